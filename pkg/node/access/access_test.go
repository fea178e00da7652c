package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestReadOnTheHost checks what the host finds in a kubeconfig whose Node it does not know. What an agent finds is tested
// with the agent.
func TestReadOnTheHost(t *testing.T) {
	const file = "/etc/kubernetes/kubelet.conf"
	for name, test := range map[string]struct{ certificate, identity, dir, problem string }{
		"a kubelet's":                      {"/var/lib/kubelet/pki/current.pem", "system:node:w1", "/var/lib/kubelet/pki", ""},
		"a kubelet's in another folder":    {"/srv/certificates/current.pem", "system:node:w1", "/srv/certificates", ""},
		"relative to the kubeconfig":       {"pki/current.pem", "system:node:w1", "/etc/kubernetes/pki", ""},
		"an administrator's":               {"/var/lib/kubelet/pki/current.pem", "kubernetes-admin", "", `has the identity "kubernetes-admin"`},
		"a name that only begins as such":  {"/var/lib/kubelet/pki/current.pem", "system:nodes", "", `has the identity "system:nodes"`},
		"a certificate that is not there":  {"", "", "", "/var/lib/kubelet/pki/gone.pem: no such file"},
		"a certificate that was truncated": {"/var/lib/kubelet/pki/current.pem", "", "", "is empty"},
	} {
		l := host.Layout{Dir: t.TempDir()}
		write := func(path, text string) {
			if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(l.At(path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		named := test.certificate
		if named == "" {
			named = "/var/lib/kubelet/pki/gone.pem"
		} else if path := named; filepath.IsAbs(path) {
			write(path, pair(t, test.identity))
		} else {
			write(filepath.Join(filepath.Dir(file), path), pair(t, test.identity))
		}
		write(file, `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"server":"https://10.0.0.1:6443"}}],
			"users":[{"name":"u","user":{"client-certificate":"`+named+`","client-key":"`+named+`"}}]}`)
		a, err := Read(l, file, "")
		switch {
		case test.problem == "" && (err != nil || a.CertificateDir() != l.At(test.dir)):
			t.Errorf("%s: got %+v, %v; want the folder %s", name, a, err, test.dir)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: got %v, want %q", name, err, test.problem)
		}
	}
}

// TestTokenOfAnotherUser asks an API server whose token a kubeconfig has.
func TestTokenOfAnotherUser(t *testing.T) {
	for name, test := range map[string]struct {
		status  int
		user    string
		problem string
	}{
		"this Node's":              {http.StatusCreated, "system:node:w1", ""},
		"an administrator's":       {http.StatusCreated, "kubernetes-admin", `has the identity "kubernetes-admin"`},
		"another Node's":           {http.StatusCreated, "system:node:w2", `"system:node:w2"`},
		"an API server of 1.27":    {http.StatusNotFound, "", ""},
		"an API server that fails": {http.StatusInternalServerError, "", "asking the API server whose identity"},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/apis/authentication.k8s.io/v1/selfsubjectreviews" || r.Header.Get("Authorization") != "Bearer t" {
				t.Errorf("%s: %s with %q", name, r.URL.Path, r.Header.Get("Authorization"))
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(test.status)
			_, _ = fmt.Fprintf(w, `{"status":{"userInfo":{"username":%q}}}`, test.user)
		}))
		l := host.Layout{Dir: t.TempDir()}
		config := `{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
			"clusters":[{"name":"c","cluster":{"insecure-skip-tls-verify":true,"server":"` + server.URL + `"}}],"users":[{"name":"u","user":{"token":"t"}}]}`
		if err := os.WriteFile(l.At("/kubelet.conf"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Read(l, "/kubelet.conf", "w1")
		if err != nil {
			t.Fatal(err)
		}
		err = a.CheckUser(t.Context(), a.Config, "w1")
		if (err == nil) != (test.problem == "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: got %v, want %q", name, err, test.problem)
		}
		server.Close()
	}
}

// TestAddProblem checks that no rehearsal passes without an agent.
func TestAddProblem(t *testing.T) {
	rehearsals := []v1alpha1.Rehearsal{{Version: "v1.34.3"}, {Version: "v1.34.4"}}
	AddProblem(rehearsals, NotMounted("/srv"))
	for _, r := range rehearsals {
		if r.Result() != v1alpha1.RehearsalFailed || r.Problems[0].Cause != v1alpha1.CauseNode || !strings.Contains(r.Problems[0].Message, "mount /srv") {
			t.Errorf("got %+v", r)
		}
	}
}

// pair returns a certificate for that name, and its key; nothing for an empty one.
func pair(t *testing.T, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}
