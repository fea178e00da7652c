package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestProxy calls a server through the proxy, as a kubelet does: an answer with a body,
// an error without one, and the status.
func TestProxy(t *testing.T) {
	dir := t.TempDir()
	containerd, proxy := filepath.Join(dir, "containerd"), filepath.Join(dir, "proxy")
	serve(t, containerd, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if r.URL.Path == "/missing" {
			w.Header().Set("Grpc-Status", "5")
			return
		}
		w.Header().Set("Trailer", "Grpc-Status")
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, "containerd "+string(body))
		w.Header().Set("Grpc-Status", "0")
	}))
	serve(t, proxy, handler(containerd))
	client := &http.Client{Transport: &http.Transport{
		Protocols: http2(),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", proxy)
		},
	}}
	const status = "\x00\x00\x00\x00\x59\x0aW\x0a\x10\x0a\x0cRuntimeReady\x10\x01" +
		"\x0aC\x0a\x0cNetworkReady\x10\x00\x1a\x0fBrokenOnPurpose\x22 the network is broken on purpose"
	for _, test := range []struct{ path, body, grpc string }{
		{"/runtime.v1.RuntimeService/Version", "containerd hello", "0"},
		{"/missing", "", "5"},
		{"/runtime.v1.RuntimeService/Status", status, "0"},
	} {
		answer, err := client.Post("http://proxy"+test.path, "application/grpc", io.MultiReader(strings.NewReader("hello")))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if string(body) != test.body || answer.Trailer.Get("Grpc-Status") != test.grpc {
			t.Errorf("%s: %q with the status %q in the trailers, want %q with %q", test.path, body, answer.Trailer.Get("Grpc-Status"), test.body, test.grpc)
		}
	}
}

func serve(t *testing.T, socket string, handler http.Handler) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, Protocols: http2()}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
}
