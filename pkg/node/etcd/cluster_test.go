package etcd

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// node is a control-plane node as far as etcd goes: its files, and a real etcd.
type node struct {
	t            *testing.T
	name         string
	l            host.Layout
	client, peer string // URLs
	process      *exec.Cmd
	printed      bytes.Buffer
}

func (n *node) dataDir() string { return n.l.At(host.EtcdDataDir) }

// newCluster starts etcd on n nodes, with certificates as kubeadm writes them.
func newCluster(t *testing.T, n int) []*node {
	t.Helper()
	nodes := make([]*node, n)
	ca := newCA(t)
	for i := range nodes {
		nodes[i] = &node{t: t, name: fmt.Sprintf("cp%d", i+1), l: host.Layout{Dir: t.TempDir()}, client: freeURL(t), peer: freeURL(t)}
		nodes[i].prepare(ca)
	}
	for _, one := range nodes {
		one.start(initialCluster(nodes))
	}
	t.Cleanup(func() {
		for _, one := range nodes {
			one.kill()
		}
	})
	for _, one := range nodes {
		one.await()
	}
	return nodes
}

func initialCluster(nodes []*node) string {
	var list []string
	for _, one := range nodes {
		list = append(list, one.name+"="+one.peer)
	}
	return strings.Join(list, ",")
}

// prepare writes what kubeadm leaves on a control-plane node.
func (n *node) prepare(ca *authority) {
	n.t.Helper()
	pki := n.l.At(defaultPKI)
	ca.issue(n.t, pki, "server")
	ca.issue(n.t, pki, "healthcheck-client")
	n.write(defaultPKI+"/ca.crt", string(ca.pem))
	n.write(host.ManifestsDir+"/etcd.yaml", `
apiVersion: v1
kind: Pod
spec:
  containers:
  - name: etcd
    command:
    - etcd
    - --listen-client-urls=`+n.client+`,https://10.0.0.11:2379
    - --trusted-ca-file=`+defaultPKI+`/ca.crt
`)
}

func (n *node) write(path, text string) {
	n.t.Helper()
	if err := os.MkdirAll(filepath.Dir(n.l.At(path)), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(n.l.At(path), []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

// start runs etcd as kubeadm's manifest does. Existing data takes precedence over the flags
// about the initial cluster.
func (n *node) start(cluster string) {
	n.t.Helper()
	pki := n.l.At(defaultPKI)
	n.process = exec.Command(apitest.Path(n.t, "etcd"), "--name="+n.name, "--data-dir="+n.dataDir(),
		"--listen-client-urls="+n.client, "--advertise-client-urls="+n.client, "--client-cert-auth=true",
		"--cert-file="+pki+"/server.crt", "--key-file="+pki+"/server.key", "--trusted-ca-file="+pki+"/ca.crt",
		"--listen-peer-urls="+n.peer, "--initial-advertise-peer-urls="+n.peer, "--initial-cluster="+cluster,
		"--peer-client-cert-auth=true", "--peer-cert-file="+pki+"/server.crt", "--peer-key-file="+pki+"/server.key",
		"--peer-trusted-ca-file="+pki+"/ca.crt", "--unsafe-no-fsync", "--log-level=warn")
	n.process.Stdout, n.process.Stderr = &n.printed, &n.printed
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.process.Start(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) kill() {
	if n.process != nil {
		_ = n.process.Process.Kill()
		_ = n.process.Wait()
		n.process = nil
	}
}

// destroy ends the member and its data.
func (n *node) destroy() {
	n.t.Helper()
	n.kill()
	if err := os.RemoveAll(n.dataDir()); err != nil {
		n.t.Fatal(err)
	}
}

// await returns when the member serves reads.
func (n *node) await() {
	n.t.Helper()
	client := n.dial()
	for range 60 {
		ctx, cancel := context.WithTimeout(n.t.Context(), time.Second)
		_, err := client.Get(ctx, "health")
		cancel()
		if err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	n.t.Fatalf("etcd on %s does not serve:\n%s", n.name, n.printed.String())
}

func (n *node) dial() *clientv3.Client {
	n.t.Helper()
	own, err := findMember(n.t.Context(), n.l)
	if err != nil {
		n.t.Fatal(err)
	}
	client, err := own.connect(n.t.Context(), n.l, n.client)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = client.Close() })
	return client
}

func freeURL(t *testing.T) string {
	t.Helper()
	port, err := apiserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return "https://127.0.0.1:" + port
}

// authority is etcd's own, as kubeadm makes one.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newCA(t *testing.T) *authority {
	t.Helper()
	ca := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd-ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	var err error
	if ca.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &ca.key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	if ca.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	ca.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ca
}

func (ca *authority) issue(t *testing.T, dir, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, &key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for suffix, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name+suffix), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
