package etcd

import (
	"bytes"
	"crypto/sha256"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// FuzzManifest checks that only an address at which a member may listen is asked, whatever its
// manifest contains: no other host's name.
func FuzzManifest(f *testing.F) {
	f.Add("{kind: Pod, spec: {containers: [{name: etcd, command: [etcd, '--listen-client-urls=https://127.0.0.1:2379,https://10.0.0.1:2379', --trusted-ca-file=/x/ca.crt]}]}}")
	f.Add("{kind: Pod, spec: {containers: {name: etcd}}}")
	f.Add("{kind: Pod, spec: {containers: [{name: etcd, command: [--listen-client-urls, 'http://example.com:2379,https://[::]:1', --trusted-ca-file=]}]}}")
	dir := f.TempDir()
	path := filepath.Join(dir, host.ManifestsDir, "etcd.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, manifest string) {
		if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := findMember(t.Context(), host.Layout{Dir: dir})
		if err != nil {
			return
		}
		address, err := url.Parse(m.endpoint)
		if err != nil || net.ParseIP(address.Hostname()) == nil {
			t.Errorf("%q: %q is asked", manifest, m.endpoint)
		}
	})
}

// FuzzVerify checks that a snapshot is complete only if it ends with the hash of what precedes it.
func FuzzVerify(f *testing.F) {
	whole := sha256.Sum256([]byte("content"))
	f.Add([]byte("short"))
	f.Add(append([]byte("content"), whole[:]...))
	f.Fuzz(func(t *testing.T, snapshot []byte) {
		path := filepath.Join(t.TempDir(), "snapshot.db")
		if err := os.WriteFile(path, snapshot, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Verify(path)
		body := max(len(snapshot)-sha256.Size, 0)
		want := sha256.Sum256(snapshot[:body])
		if is := body > 0 && bytes.Equal(want[:], snapshot[body:]); is != (err == nil) {
			t.Errorf("%q: whole is %t: %v", snapshot, is, err)
		}
	})
}
