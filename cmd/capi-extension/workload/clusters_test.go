package workload

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var prod = types.NamespacedName{Namespace: "machines", Name: "prod"}

// kubeconfigSecret returns the Secret of a server with that certificate, in PEM.
func kubeconfigSecret(server string, authority []byte, user string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "machines", Name: "prod-kubeconfig", UID: "1"},
		Data:       map[string][]byte{"value": fmt.Appendf(nil, `{"clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority-data":%q}}],"users":[{"name":"u","user":%s}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"current-context":"x"}`, server, base64.StdEncoding.EncodeToString(authority), user)},
	}
}

func problemOf(t *testing.T, err error) *Problem {
	t.Helper()
	var p *Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a Problem", err)
	}
	return p
}

// TestClient checks in whose name requests are made, and that a changed Secret makes a new client.
func TestClient(t *testing.T) {
	var seen []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization")+" as "+r.Header.Get("Impersonate-User")+" of "+strings.Join(r.Header.Values("Impersonate-Group"), ","))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"w1"}}`)
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	management := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(kubeconfigSecret(server.URL, authority, `{"token":"a"}`)).Build()
	clusters := &Clusters{Management: management, Timeout: 10 * time.Second}
	first, err := clusters.Open(t.Context(), prod)
	if err != nil {
		t.Fatal(err)
	}
	if node, err := first.Node(t.Context(), "w1"); err != nil || node.Name != "w1" {
		t.Fatalf("got %v, %v", node, err)
	}
	if again, err := clusters.Open(t.Context(), prod); err != nil || again.Client != first.Client {
		t.Errorf("the same Secret: got another client, %v", err)
	}
	if used := clusters.Used(); !slices.Equal(used, []types.NamespacedName{prod}) {
		t.Errorf("used clusters: got %v", used)
	}
	changed := kubeconfigSecret(server.URL, authority, `{"token":"b"}`)
	if err := management.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	second, err := clusters.Open(t.Context(), prod)
	if err != nil || second.Client == first.Client {
		t.Fatalf("another Secret: got the same client, %v", err)
	}
	if _, err := second.Node(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	as := " as system:serviceaccount:kubectl-upgrade:capi-extension of system:serviceaccounts,system:serviceaccounts:kubectl-upgrade,system:authenticated"
	if want := []string{"Bearer a" + as, "Bearer b" + as}; !slices.Equal(seen, want) {
		t.Errorf("requests: got %q, want %q", seen, want)
	}
	if err := management.Delete(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	_, err = clusters.Open(t.Context(), prod)
	if got, want := problemOf(t, err).Message, "there is no Secret machines/prod-kubeconfig yet"; got != want || !apierrors.IsNotFound(err) {
		t.Errorf("no Secret: got %q, want %q", got, want)
	}
	if used := clusters.Used(); len(used) != 0 {
		t.Errorf("the cluster is gone, and used are %v", used)
	}
}

// TestKubeconfigs refuses kubeconfigs that have the extension run programs, read files or trust any server.
func TestKubeconfigs(t *testing.T) {
	authority := []byte("authority")
	for _, c := range []struct {
		server, user string
		authority    []byte
		want         string
	}{
		{"https://192.0.2.1", `{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"/bin/sh","interactiveMode":"Never"}}`, authority, "it names a program"},
		{"https://192.0.2.1", `{"tokenFile":"/var/run/secrets/kubernetes.io/serviceaccount/token"}`, authority, "it names a file"},
		{"https://192.0.2.1", `{"client-certificate":"/a","client-key":"/b"}`, authority, "it names a file"},
		{"https://192.0.2.1", `{"token":"a"}`, nil, "it has no certificate-authority-data"},
		{"http://192.0.2.1", `{"token":"a"}`, authority, "its server is no https address"},
		{"https://192.0.2.1", `[]`, authority, "it is no kubeconfig"},
	} {
		management := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(kubeconfigSecret(c.server, c.authority, c.user)).Build()
		_, err := (&Clusters{Management: management}).Open(t.Context(), prod)
		want := "the kubeconfig in the key value of Secret machines/prod-kubeconfig cannot be used: " + c.want
		if got := problemOf(t, err).Message; !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", c.user, got, want)
		}
	}
}

// TestProblems checks that each kind of error has a sentence that stays the same and says what to do.
func TestProblems(t *testing.T) {
	resource := schema.GroupResource{Group: "kubectl-upgrade.dev", Resource: "clusterupgrades"}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"refused connection", &net.OpError{Op: "dial", Err: errors.New("connection refused")}, "the API server of cluster machines/prod does not answer"},
		{"too slow", context.DeadlineExceeded, "the API server of cluster machines/prod does not answer"},
		{"overloaded", apierrors.NewTooManyRequests("later", 3), "the API server of cluster machines/prod does not answer"},
		{"internal error", apierrors.NewInternalError(errors.New("etcd")), "the API server of cluster machines/prod does not answer"},
		{"no right", apierrors.NewForbidden(resource, "x", errors.New("no")), "the extension has not its rights in cluster machines/prod: apply manifests/clusterapi/workload there"},
		{"expired", apierrors.NewUnauthorized("no"), "the API server of cluster machines/prod does not accept the credentials of Secret prod-kubeconfig"},
		{"no CRD", apierrors.NewNotFound(resource, ""), "kubectl-upgrade is not installed in cluster machines/prod"},
		{"conflict", apierrors.NewConflict(resource, "x", errors.New("changed")), "the API server of cluster machines/prod refuses a request of the extension: Conflict"},
	} {
		cluster := Cluster{prod, interceptor.NewClient(fake.NewClientBuilder().WithScheme(Scheme()).Build(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return test.err
			},
		})}
		_, err := cluster.Upgrades(t.Context())
		if got := problemOf(t, err); got.Message != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %q, want %q", test.name, got.Message, test.want)
		}
	}
}
