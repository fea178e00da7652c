package facts

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestServedByEtcd renews the certificate with which a real etcd serves. A handshake tells that etcd has it, without a
// restart, and a client that shows its certificate leaves no warning in etcd's log.
func TestServedByEtcd(t *testing.T) {
	program, dir := apitest.Path(t, "etcd"), t.TempDir()
	a := newAuthority(t, "etcd-ca")
	l := tree{"/ca.crt": a.pem}.on(t)
	issue := func(name string) []byte {
		text, leaf, key := signed(t, "localhost", &a)
		for extension, content := range map[string]string{".key": string(pemKey(t, key)), ".crt": text} {
			if err := os.WriteFile(l.At(name+extension), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return leaf.Raw
	}
	first := issue("/server")
	issue("/client")
	clients, peers := freeAddress(t), freeAddress(t)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	etcd := exec.CommandContext(t.Context(), program, "--data-dir="+dir+"/data", "--cert-file="+l.At("/server.crt"), "--key-file="+l.At("/server.key"),
		"--trusted-ca-file="+l.At("/ca.crt"), "--client-cert-auth", "--listen-client-urls=https://"+clients, "--advertise-client-urls=https://"+clients,
		"--listen-peer-urls=http://"+peers, "--initial-advertise-peer-urls=http://"+peers, "--initial-cluster=default=http://"+peers)
	etcd.Stdout, etcd.Stderr = log, log
	if err := etcd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Process.Kill(); _ = etcd.Wait() })

	serves := func(want []byte, what string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			served, err := servedAt(t.Context(), l, clients, "/client")
			if string(served) == string(want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: it serves another certificate, or none: %v", what, err)
			}
		}
	}
	serves(first, "at its start")
	time.Sleep(time.Second) // it connects to itself
	before := rejected(t, log.Name())
	for range 3 {
		serves(first, "again")
	}
	time.Sleep(time.Second)
	if after := rejected(t, log.Name()); after != before {
		t.Errorf("etcd logs %d warnings for 3 handshakes", after-before)
	}
	serves(issue("/server"), "after the renewal")
}

// rejected returns how many connections etcd's log says were rejected.
func rejected(t *testing.T, log string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "rejected connection")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
