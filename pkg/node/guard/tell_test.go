package guard

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestAnnotate checks that the guard writes on the Node that its kubelet's certificate names, and on
// no other.
func TestAnnotate(t *testing.T) {
	var asked, body string
	status := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		asked, body = r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"), string(data)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		kind := map[int]string{http.StatusOK: "Node"}[status]
		_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1","code":%d}`, cmp.Or(kind, "Status"), status)
	}))
	defer server.Close()
	n := newNode(t, v1alpha1.MethodReboot)
	n.access(server.URL, "system:node:w1")
	if err := annotate(n.Layout)(t.Context(), "text"); err != nil {
		t.Error(err)
	}
	if asked != "PATCH /api/v1/nodes/w1 application/merge-patch+json" || body != `{"metadata":{"annotations":{"kubectl-upgrade.dev/guard":"text"}}}` {
		t.Errorf("it asked %s with %s", asked, body)
	}
	if status = http.StatusNotFound; annotate(n.Layout)(t.Context(), "text") != nil {
		t.Error("a Node that was deleted is waited for")
	}
	if status = http.StatusForbidden; annotate(n.Layout)(t.Context(), "text") == nil {
		t.Error("a refusal counts as written")
	}
	asked = ""
	if n.access(server.URL, "kubernetes-super-admin"); annotate(n.Layout)(t.Context(), "text") == nil || asked != "" {
		t.Errorf("with an administrator's certificate it asked %q", asked)
	}
}

// access writes a kubelet.conf whose client certificate has that name.
func (n *node) access(server, name string) {
	n.t.Helper()
	certificate, key := clientCertificate(n.t, name)
	n.write(host.KubeletAccess, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"users":[{"name":"u","user":{"client-certificate-data":%q,"client-key-data":%q}}]}`, server, certificate, key))
}

// clientCertificate returns a certificate of that name and its key, as kubelet.conf has them.
func clientCertificate(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, data []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return text("CERTIFICATE", der), text("EC PRIVATE KEY", encoded)
}
