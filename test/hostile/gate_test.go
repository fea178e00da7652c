package hostile_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/gate"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/hostile"
)

// mostGates is how many gates a policy has at most, which are asked at the same time.
const mostGates = 16

// mostMemory is how many MiB the answers of all of them may take together.
const mostMemory = 100

// TestHostileAnswers checks how much memory gates take whose servers answer 4 MiB of small values.
func TestHostileAnswers(t *testing.T) {
	prometheus := func(address, _ string) (gate.Clients, v1alpha1.Gate) {
		return gate.Clients{}, v1alpha1.Gate{Name: "alerts", TimeoutSeconds: 30, Prometheus: &v1alpha1.PrometheusGate{URL: address, Query: "ALERTS", Expect: v1alpha1.ExpectEmpty}}
	}
	objects := func(name string) func(string, string) (gate.Clients, v1alpha1.Gate) {
		return func(address, _ string) (gate.Clients, v1alpha1.Gate) { return objectClients(address, name) }
	}
	const policy, listed = `{"kind":"UpgradePolicy","status":`, `{"kind":"ConfigMapList","items":[`
	for _, row := range []struct {
		what    string
		clients func(address, certificate string) (gate.Clients, v1alpha1.Gate)
		answer  func() []byte
	}{
		{"prometheus, empty samples", prometheus, hostile.Answer(`{"status":"success","data":{"resultType":"vector","result":[`, `{},`, `{}]}}`)},
		{"prometheus, samples", prometheus, hostile.Answer(`{"status":"success","data":{"resultType":"vector","result":[`, `{"value":[1,"1"]},`, `{}]}}`)},
		{"prometheus, warnings", prometheus, hostile.Answer(`{"status":"success","warnings":[`, `"",`, `""]}`)},
		{"prometheus, labels", prometheus, hostile.Answer(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{`, `"a":"",`, `"b":""}}]}}`)},
		{"prometheus, depth", prometheus, hostile.Answer(`{"infos":`, `[`, ``)},
		{"prometheus, spaces", prometheus, hostile.Answer(`{`, ` `, `}`)},
		{"prometheus, a name", prometheus, hostile.Answer(`{"`, `a`, `":1}`)},
		{"leader, ran", followed, hostile.Answer(policy+`{"ran":[`, `{},`, `{}]}}`)},
		{"leader, digests", followed, hostile.Answer(policy+`{"ran":[{"digests":[`, `{},`, `{}]}]}}`)},
		{"leader, fields of the status", followed, hostile.Answer(policy+`{`, `"a":{},`, `"b":{}}}`)},
		{"leader, managed fields", followed, hostile.Answer(`{"metadata":{"managedFields":[`, `{},`, `{}]}}`)},
		{"one object", objects("a"), hostile.Answer(`{"data":[`, `[],`, `[]]}`)},
		{"one object of 1.9 MiB", objects("a"), func() []byte { return []byte(`{"data":[` + strings.Repeat(`{},`, 600_000) + `{}]}`) }},
		{"an object with names", objects("a"), func() []byte { return namesOf(180_000) }},
		{"objects", objects(""), hostile.Answer(listed, `{},`, `{}]}`)},
		{"large objects", objects(""), func() []byte {
			one := `{"data":[` + strings.Repeat(`{},`, 190_000) + `{}]}`
			return []byte(listed + one + "," + one + "]}")
		}},
	} {
		t.Run(row.what, func(t *testing.T) {
			var certificate string
			peak := hostile.Peak(t, func() string {
				answer := row.answer()
				server := hostile.Server(t, strings.HasPrefix(row.what, "leader"), func(string) []byte { return answer })
				if server.Certificate() != nil {
					certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
				}
				return server.URL + "\n" + certificate
			}, func(input string) {
				address, certificate, _ := strings.Cut(input, "\n")
				clients, g := row.clients(address, certificate)
				var group sync.WaitGroup
				for range mostGates {
					group.Go(func() {
						if answer := clients.Ask(context.Background(), g); answer.State == v1alpha1.GateOpen {
							fmt.Printf("the gate is open: %s\n", answer.Message)
						}
					})
				}
				group.Wait()
			})
			if t.Logf("%d MiB", peak); peak > mostMemory {
				t.Errorf("%d gates take %d MiB, want at most %d", mostGates, peak, mostMemory)
			}
		})
	}
}

func namesOf(count int) []byte {
	var text strings.Builder
	text.WriteString(`{"data":{`)
	for i := range count {
		fmt.Fprintf(&text, `"%x":{},`, i)
	}
	return []byte(text.String() + `"":1}}`)
}

func followed(address, certificate string) (gate.Clients, v1alpha1.Gate) {
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: address, CertificateAuthorityData: []byte(certificate)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: "t"}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "c",
	})
	if err != nil {
		panic(err)
	}
	secrets := fake.NewClientset(secretOf("leader", "kubeconfig", string(text)))
	return gate.Clients{Secrets: secrets.CoreV1()}, v1alpha1.Gate{Name: "leader", TimeoutSeconds: 60, Cluster: &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: "leader"}}}
}

// objectClients returns clients of an API server that has ConfigMaps only.
func objectClients(address, name string) (gate.Clients, v1alpha1.Gate) {
	server, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	g := v1alpha1.ObjectGate{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name, Condition: "size(object.data) > 0"}
	if name == "" {
		g.Selector = &v1alpha1.LabelSelector{}
	}
	clients := gate.Clients{Objects: &http.Client{}, Server: server, Mapper: resettable{mapper}}
	return clients, v1alpha1.Gate{Name: "objects", TimeoutSeconds: 60, Object: &g}
}

type resettable struct{ meta.RESTMapper }

func (resettable) Reset() {}

// TestHostileKubeconfig checks how much memory a Secret takes that is no kubeconfig.
func TestHostileKubeconfig(t *testing.T) {
	many := strings.Repeat("{},", 400)
	for what, text := range map[string]string{
		"a megabyte of clusters": "clusters: [" + strings.Repeat("{},", 300_000) + "{}]\n",
		"clusters":               "clusters: [" + strings.Repeat("{},", 21_000) + "{}]\n",
		"depth":                  "clusters: " + strings.Repeat("[", 60_000),
		"aliases":                "a: &a [" + many + "{}]\nclusters: [" + strings.Repeat("*a,", 900) + "*a]\n",
		"aliases of clusters":    "a: &a {" + strings.Repeat(" ", 10) + "}\nclusters: [" + strings.Repeat("*a,", 20_000) + "*a]\n",
	} {
		t.Run(what, func(t *testing.T) {
			peak := hostile.Peak(t, func() string { return "" }, func(string) {
				secrets := fake.NewClientset(secretOf("leader", "kubeconfig", text))
				clients := gate.Clients{Secrets: secrets.CoreV1()}
				var group sync.WaitGroup
				for range mostGates {
					group.Go(func() {
						clients.Ask(context.Background(), v1alpha1.Gate{Name: "g", TimeoutSeconds: 60, Cluster: &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: "leader"}}})
					})
				}
				group.Wait()
			})
			if t.Logf("%d MiB", peak); peak > mostMemory {
				t.Errorf("%d gates take %d MiB, want at most %d", mostGates, peak, mostMemory)
			}
		})
	}
}

// TestClusterFollowsNoRedirect checks that a followed cluster does not lead the token elsewhere.
func TestClusterFollowsNoRedirect(t *testing.T) {
	var told []string
	elsewhere := hostile.Server(t, false, func(path string) []byte { told = append(told, path); return []byte("{}") })
	leader := hostile.Redirecting(t, elsewhere.URL)
	clients, g := followed(leader.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leader.Certificate().Raw})))
	answer := clients.Ask(t.Context(), g)
	if answer.State != v1alpha1.GateUnknown || !strings.Contains(answer.Message, "it answers with another address, which is not followed") {
		t.Errorf("got %s: %s", answer.State, answer.Message)
	}
	if len(told) > 0 {
		t.Errorf("the redirect was followed to %s", told)
	}
}

func secretOf(name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}
