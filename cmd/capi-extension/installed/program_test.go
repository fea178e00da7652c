package installed_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/extension"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// running is the program, with its rights in the management cluster.
type running struct {
	hooks, metrics string // addresses
	client         *http.Client
}

func start(t *testing.T, config *rest.Config) *running {
	t.Helper()
	folder := t.TempDir()
	pool := certificate(t, folder)
	file := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(api.Config{
		Clusters: map[string]*api.Cluster{"management": {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos: map[string]*api.AuthInfo{"extension": {
			Token: config.BearerToken, Impersonate: extensionAccount, ImpersonateGroups: []string{"system:serviceaccounts", "system:authenticated"},
		}},
		Contexts:       map[string]*api.Context{"management": {Cluster: "management", AuthInfo: "extension"}},
		CurrentContext: "management",
	}, file); err != nil {
		t.Fatal(err)
	}
	r := &running{hooks: freeAddress(t), metrics: freeAddress(t), client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "capi-extension.kubectl-upgrade-capi.svc"}}}}
	command := extension.NewCommand("test")
	command.SetArgs([]string{"--kubeconfig", file, "--cert-dir", folder, "--address", r.hooks, "--metrics-address", r.metrics, "--timeout", "10s"})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	eventually(t, "the program is ready", func() error {
		answer, err := r.client.Get("https://" + r.metrics + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("got %s", answer.Status)
		}
		return nil
	})
	return r
}

// certificate writes a certificate into the folder, as cert-manager's self-signed issuer makes it.
func certificate(t *testing.T, folder string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{"capi-extension.kubectl-upgrade-capi.svc"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{"tls.crt": public, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("%s: not within a minute: %v", what, err)
}

// answer is what all answers have.
type answer struct {
	Status, Message   string
	RetryAfterSeconds int
	MachinePatch      struct{ Patch []byte }
}

func (r *running) ask(t *testing.T, path string, request any) answer {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.client.Post("https://"+r.hooks+"/hooks.runtime.cluster.x-k8s.io/v1alpha1/"+path, "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var a answer
	if err := json.NewDecoder(got.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// node makes a Node with its NodeUpgrade in the workload cluster.
func node(t *testing.T, admin client.Client, name string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	create(t, admin, n)
	n.Status.NodeInfo.KubeletVersion = "v1.34.3"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := admin.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	create(t, admin, object("kubectl-upgrade.dev/v1alpha1", "NodeUpgrade", "", name, map[string]any{"managed": true}))
	return n
}

// plan does what the coordinator does for a node.
func plan(t *testing.T, admin client.Client, name string, upgrade *unstructured.Unstructured, reason v1alpha1.Reason) {
	t.Helper()
	n := object("kubectl-upgrade.dev/v1alpha1", "NodeUpgrade", "", name, nil)
	spec := fmt.Sprintf(`{"spec":{"upgrade":{"name":%q,"uid":%q}}}`, upgrade.GetName(), upgrade.GetUID())
	status := fmt.Sprintf(`{"status":{"observedGeneration":1,"step":"Waiting","versions":{"kubelet":"v1.34.3","controlPlane":"v1.34.3"},"conditions":[{"type":"Admitted","status":"False","reason":%q,"message":"because","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, reason)
	if err := admin.Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(spec))); err != nil {
		t.Fatal(err)
	}
	if err := admin.Status().Patch(t.Context(), n, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		t.Fatal(err)
	}
}

func upgradeTo(t *testing.T, admin client.Client) (*unstructured.Unstructured, error) {
	t.Helper()
	u := object("kubectl-upgrade.dev/v1alpha1", "ClusterUpgrade", "", "capi-v1.34.4", nil)
	return u, admin.Get(t.Context(), client.ObjectKeyFromObject(u), u)
}

func requested(t *testing.T, admin client.Client) string {
	t.Helper()
	u, err := upgradeTo(t, admin)
	if err != nil {
		return err.Error()
	}
	var list unstructured.UnstructuredList
	list.SetAPIVersion("kubectl-upgrade.dev/v1alpha1")
	list.SetKind("NodeUpgradeList")
	if err := admin.List(t.Context(), &list); err != nil {
		return err.Error()
	}
	var names []string
	for _, n := range list.Items {
		if n.GetAnnotations()["kubectl-upgrade.dev/requested-for"] == string(u.GetUID()) {
			names = append(names, n.GetName())
		}
	}
	return strings.Join(names, ",")
}

// TestProgram runs the program with the rights that its manifests give it.
func TestProgram(t *testing.T) {
	config := install(t)
	admin, _, _ := clients(t, config)
	create(t, admin, object("cluster.x-k8s.io/v1beta2", "Cluster", in, "prod", parse(`{infrastructureRef: {apiGroup: infrastructure.example.org, kind: ExampleCluster, name: x}}`)))
	create(t, admin, kubeconfig(t, config, in, "prod"))
	kcp := merged(t, controlPlane(in, "cp"), `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"prod"}},"spec":{"version":"v1.34.4"}}`)
	create(t, admin, kcp)
	md := merged(t, deployment(in, "workers"), `{"metadata":{"labels":{"cluster.x-k8s.io/cluster-name":"prod"}},"spec":{"template":{"spec":{"version":"v1.34.4"}}}}`)
	create(t, admin, md)
	cp := merged(t, machine("cp-1"), `{"metadata":{"labels":{"cluster.x-k8s.io/deployment-name":null,"cluster.x-k8s.io/control-plane":""}}}`)
	controls := true
	cp.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: kcp.GetAPIVersion(), Kind: kcp.GetKind(), Name: kcp.GetName(), UID: kcp.GetUID(), Controller: &controls}})
	worker := merged(t, machine("worker-1"), `{"metadata":{"finalizers":["example.org/hold"],"annotations":{"in-place-updates.internal.cluster.x-k8s.io/update-in-progress":"","runtime.cluster.x-k8s.io/pending-hooks":"UpdateMachine"}},"spec":{"version":"v1.34.4"}}`)
	for o, name := range map[*unstructured.Unstructured]string{cp: "node-cp-1", worker: "node-w-1"} {
		create(t, admin, o)
		node(t, admin, name)
		if err := admin.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"nodeRef":{"name":"`+name+`"}}}`))); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		u, err := upgradeTo(t, admin)
		if err == nil {
			_ = admin.Delete(context.Background(), u)
		}
	})
	r := start(t, config)

	// A control plane waits for its window; then the KubeadmControlPlane is touched.
	asked := func() answer {
		current := map[string]any{"machine": cp.Object, "infrastructureMachine": object("infrastructure.example.org/v1", "ExampleMachine", in, "x", nil).Object, "bootstrapConfig": object("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", in, "x", nil).Object}
		desired := map[string]any{"machine": merged(t, cp, `{"spec":{"version":"v1.34.4"}}`).Object, "infrastructureMachine": current["infrastructureMachine"], "bootstrapConfig": current["bootstrapConfig"]}
		return r.ask(t, "canupdatemachine/can-update-machine", map[string]any{"current": current, "desired": desired})
	}
	if got := asked(); got.Status != "Failure" {
		t.Fatalf("the first question: got %s %q, want Failure", got.Status, got.Message)
	}
	u, err := upgradeTo(t, admin)
	if err != nil {
		t.Fatal(err)
	}
	plan(t, admin, "node-cp-1", u, v1alpha1.ReasonWindowClosed)
	if got := asked(); got.Status != "Failure" || got.Message != "node-cp-1 waits: because" {
		t.Errorf("outside the window: got %s %q", got.Status, got.Message)
	}
	plan(t, admin, "node-cp-1", u, v1alpha1.ReasonNotRequested)
	eventually(t, "the KubeadmControlPlane is touched", func() error {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(kcp), kcp); err != nil {
			return err
		}
		if kcp.GetAnnotations()["kubectl-upgrade.dev/asked-again"] == "" {
			return fmt.Errorf("its annotations are %v", kcp.GetAnnotations())
		}
		return nil
	})
	if got := asked(); got.Status != "Success" || len(got.MachinePatch.Patch) == 0 {
		t.Errorf("in the window: got %s %q", got.Status, got.Message)
	}

	// A worker is asked for, and withdrawn once its Machine is deleted.
	update := map[string]any{"desired": map[string]any{"machine": worker.Object}}
	if got := r.ask(t, "updatemachine/update-machine", update); got.Status != "Success" || got.RetryAfterSeconds == 0 {
		t.Errorf("update: got %s %q, again after %d s", got.Status, got.Message, got.RetryAfterSeconds)
	}
	if got := requested(t, admin); got != "node-w-1" {
		t.Errorf("requested nodes: got %s, want node-w-1", got)
	}
	marked := func() string {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(worker), worker); err != nil {
			t.Fatal(err)
		}
		return worker.GetAnnotations()["cluster.x-k8s.io/skip-remediation"]
	}
	if got := marked(); got != "kubectl-upgrade.dev/upgrade-in-place" {
		t.Errorf("the Machine's mark: got %q", got)
	}
	var events corev1.EventList
	if err := admin.List(t.Context(), &events, client.InNamespace(in)); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, event := range events.Items {
		told[event.InvolvedObject.Kind+" "+event.InvolvedObject.Name]++
	}
	if want := map[string]int{"Machine cp-1": 2, "KubeadmControlPlane cp": 2, "Machine worker-1": 1, "MachineDeployment workers": 1}; !maps.Equal(told, want) {
		t.Errorf("events by object: got %v, want %v", told, want)
	}
	if err := admin.Delete(t.Context(), worker); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is withdrawn, and the mark removed", func() error {
		if nodes, mark := requested(t, admin), marked(); nodes != "" || mark != "" {
			return fmt.Errorf("requested nodes %q, mark %q", nodes, mark)
		}
		return nil
	})
	if err := admin.Patch(t.Context(), worker, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}

	if answer := r.metricsFor(t, ""); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the metrics without a token: got %s, want 401", answer.Status)
	}
	text, _ := io.ReadAll(r.metricsFor(t, config.BearerToken).Body)
	for _, want := range []string{
		`kubectl_upgrade_capi_answers_total{answer="Failure",hook="CanUpdateMachine"} 2`, `kubectl_upgrade_capi_answers_total{answer="Success",hook="CanUpdateMachine"} 1`,
		`kubectl_upgrade_capi_answers_total{answer="Waits",hook="UpdateMachine"} 1`, `kubectl_upgrade_capi_build_info{version="test"} 1`, "kubectl_upgrade_capi_owners_waiting 0",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %s:\n%s", want, text)
		}
	}
}

// metricsFor reads the metrics with a token.
func (r *running) metricsFor(t *testing.T, token string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := r.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}
