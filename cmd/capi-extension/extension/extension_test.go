package extension

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue writes a new certificate with its key into the folder, and returns it.
func issue(t *testing.T, folder string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "tls.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), serial)
	write(t, filepath.Join(folder, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), serial)
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return issued
}

// write writes a file with a time of its own, however fast the test is.
func write(t *testing.T, file string, data []byte, serial int64) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_700_000_000+serial, 0)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestClientCertificates answers only clients with a certificate of --client-ca, and without it says that it answers
// any.
func TestClientCertificates(t *testing.T) {
	folder, theirs := t.TempDir(), t.TempDir()
	issued := issue(t, folder, 1)
	issue(t, theirs, 2)
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	if _, err := tlsConfig(options{certFolder: folder}, log); err != nil || !strings.Contains(said.String(), "any client that reaches the address is answered") {
		t.Errorf("without --client-ca the program says %q (%v)", said.String(), err)
	}
	said.Reset()
	config, err := tlsConfig(options{certFolder: folder, clientCA: filepath.Join(theirs, "tls.crt")}, log)
	if err != nil || said.Len() > 0 {
		t.Fatalf("with --client-ca the program says %q (%v)", said.String(), err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS, server.Config.ErrorLog = config, slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelInfo)
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(issued)
	mine, err := tls.LoadX509KeyPair(filepath.Join(theirs, "tls.crt"), filepath.Join(theirs, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name         string
		certificates []tls.Certificate
		want         bool
	}{{"without", nil, false}, {"with one", []tls.Certificate{mine}, true}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: test.certificates}}}
		answer, err := client.Get(server.URL)
		if err == nil {
			answer.Body.Close()
		}
		if (err == nil) != test.want {
			t.Errorf("%s: got %v, want an answer: %t", test.name, err, test.want)
		}
	}
}

// TestRefusedFlags checks what is said about flags that cannot be used.
func TestRefusedFlags(t *testing.T) {
	folder := t.TempDir()
	issue(t, folder, 1)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--on-uncovered", "Perhaps"}, "--on-uncovered=Perhaps: it has to be Stop or Replace"},
		{[]string{"--cert-dir", "/does/not/exist"}, "reading the certificate: stat /does/not/exist/tls.crt: no such file or directory"},
		{[]string{"--cert-dir", folder, "--client-ca", filepath.Join(folder, "tls.key")}, "--client-ca: " + folder + "/tls.key has no certificate"},
		{[]string{"--cert-dir", folder, "--kubeconfig", "/does/not/exist"}, "finding the management cluster's API server: stat /does/not/exist: no such file or directory"},
		{[]string{"more"}, `unknown command "more" for "capi-extension"`},
	} {
		command := NewCommand("v1")
		var printed bytes.Buffer
		command.SetErr(&printed)
		command.SetArgs(test.args)
		if err := command.ExecuteContext(t.Context()); err == nil || err.Error() != test.want || !strings.Contains(printed.String(), test.want) {
			t.Errorf("%q: got %v, want %s", test.args, err, test.want)
		}
	}
}
