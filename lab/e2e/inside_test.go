//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxyAddress is where the nodes find the proxy.
const proxyAddress = "10.88.0.1:3128"

// inside is the lab's image server behind TLS, whose name only a proxy knows.
type inside struct {
	host      string
	authority authority
	address   string // of the server, which listens on no address of the nodes' network
	mu        sync.Mutex
	clients   map[string]int
}

// startInside runs the server and the proxy until the test ends.
func startInside(t *testing.T) *inside {
	t.Helper()
	i := &inside{host: "images.inside.test", authority: newAuthority(t), clients: map[string]int{}}
	source := &url.URL{Scheme: "http", Host: "10.88.0.1:8080"}
	server := &http.Server{
		Handler:   &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(source) }},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{i.authority.issue(t, i.host)}, MinVersion: tls.VersionTLS12}, ReadHeaderTimeout: time.Minute,
	}
	listener := listen(t, "127.0.0.1:0")
	i.address = listener.Addr().String()
	go func() { _ = server.ServeTLS(listener, "", "") }()
	proxy := &http.Server{Handler: i, ReadHeaderTimeout: time.Minute}
	proxyListener := listen(t, proxyAddress)
	go func() { _ = proxy.Serve(proxyListener) }()
	t.Cleanup(func() { _ = proxy.Close(); _ = server.Close() })
	return i
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// ServeHTTP is the proxy: it opens tunnels to the source, and to nothing else.
func (i *inside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != i.host+":443" {
		http.Error(w, "this proxy only tunnels to "+i.host, http.StatusForbidden)
		return
	}
	i.count(r.RemoteAddr)
	server, err := (&net.Dialer{}).DialContext(context.WithoutCancel(r.Context()), "tcp", i.address)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, buffered)
	}()
	_, _ = io.Copy(client, server)
}

func (i *inside) count(remote string) {
	host, _, _ := net.SplitHostPort(remote)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clients[host]++
}

// asked returns how many tunnels each client asked for, by its address.
func (i *inside) asked() map[string]int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.clients)
}

// authority is a private CA.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := certificateFor("mirror CA")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return authority{template, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate for a host.
func (a authority) issue(t *testing.T, host string) tls.Certificate {
	t.Helper()
	template := certificateFor(host)
	template.DNSNames, template.ExtKeyUsage = []string{host}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func certificateFor(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
