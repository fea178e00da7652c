package ledger

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWriter runs against a real etcd, and loses a number on purpose.
func TestWriter(t *testing.T) {
	url := startEtcd(t)
	w := New(url, &http.Transport{}, time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	for w.Report().Acknowledged < 20 {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	<-done
	if err := w.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := w.Report(); r.Gap <= 0 {
		t.Errorf("got a longest gap of %s after %d writes, want more than 0", r.Gap, r.Acknowledged)
	}
	if err := w.store.put(t.Context(), key(7), "8"); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(t.Context()); err == nil || !strings.Contains(err.Error(), `number 7 of`) {
		t.Errorf("a changed number: got %v", err)
	}
	if err := w.store.call(t.Context(), "/v3/kv/deleterange", pair{Key: []byte(key(7))}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("a lost number: got %v", err)
	}
}

// TestWriterRepeats writes to an address where nothing listens.
func TestWriterRepeats(t *testing.T) {
	w := New("http://"+freeAddress(t), &http.Transport{}, time.Millisecond)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	w.Run(ctx)
	if r := w.Report(); r.Acknowledged != 0 || r.Repeated == 0 {
		t.Errorf("got %+v, want attempts only", r)
	}
}

// startEtcd returns the URL of an etcd that ends with the test.
func startEtcd(t *testing.T) string {
	t.Helper()
	program := filepath.Join(os.Getenv("KUBE_ASSETS"), "etcd")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("KUBE_ASSETS has no etcd (make test builds one): %v", err)
	}
	clients, peers := "http://"+freeAddress(t), "http://"+freeAddress(t)
	cmd := exec.CommandContext(t.Context(), program, "--data-dir", t.TempDir(), "--log-level", "error",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.Get(clients + "/health") //nolint:noctx // the test ends it
		if err == nil {
			_ = response.Body.Close()
			return clients
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
