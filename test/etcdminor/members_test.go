//go:build etcdminor

package etcdminor

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
)

// build is a version of etcd, and its program.
type build struct{ version, program string }

func (b build) minor() string { return b.version[:strings.LastIndex(b.version, ".")] }

// cluster is a few members on loopback, with TLS between them and to clients.
type cluster struct {
	t       *testing.T
	folder  string
	tls     *tls.Config
	members []*member
}

type member struct {
	name, client, peer string
	runs               build
	starts             int
	process            *apiserver.Process
	direct             *clientv3.Client // to this member alone
}

func newCluster(t *testing.T, b build) *cluster {
	c := &cluster{t: t, folder: t.TempDir()}
	c.makeCertificate()
	for _, name := range []string{"cp1", "cp2", "cp3"} {
		c.members = append(c.members, c.newMember(name))
	}
	for _, m := range c.members {
		c.start(m, b, "new")
	}
	for _, m := range c.members {
		c.await(m)
	}
	return c
}

// makeCertificate makes one certificate that every member and client has and trusts.
func (c *cluster) makeCertificate() {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	c.must(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	c.must(err)
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.must(os.WriteFile(filepath.Join(c.folder, "tls.crt"), public, 0o600))
	c.must(os.WriteFile(filepath.Join(c.folder, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(public)
	c.tls = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
}

func (c *cluster) newMember(name string) *member {
	m := &member{name: name, client: c.url(), peer: c.url()}
	m.direct = c.connect("", m)
	return m
}

func (c *cluster) url() string {
	port, err := apiserver.FreePort()
	c.must(err)
	return "https://127.0.0.1:" + port
}

// connect returns a client of the members, of a user of etcd if one is named.
func (c *cluster) connect(user string, members ...*member) *clientv3.Client {
	config := clientv3.Config{TLS: c.tls, DialTimeout: 30 * time.Second,
		Username: user, Password: user,
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second, Logger: zap.NewNop()}
	for _, m := range members {
		config.Endpoints = append(config.Endpoints, m.client)
	}
	client, err := clientv3.New(config)
	c.must(err)
	c.t.Cleanup(func() { _ = client.Close() })
	return client
}

// start starts a member with the flags that kubeadm writes.
func (c *cluster) start(m *member, b build, state string) {
	var initial []string
	for _, one := range c.members {
		initial = append(initial, one.name+"="+one.peer)
	}
	m.runs, m.starts = b, m.starts+1
	logs := filepath.Join(c.folder, m.name, strconv.Itoa(m.starts))
	c.must(os.MkdirAll(logs, 0o700))
	crt, key := filepath.Join(c.folder, "tls.crt"), filepath.Join(c.folder, "tls.key")
	check, notify := "--feature-gates=InitialCorruptCheck=true", "--watch-progress-notify-interval=5s"
	if b.minor() == "3.5" {
		check, notify = "--experimental-initial-corrupt-check=true", "--experimental-watch-progress-notify-interval=5s"
	}
	process, err := apiserver.Start(logs, b.program, "--name="+m.name, "--data-dir="+filepath.Join(c.folder, m.name, "data"),
		"--listen-client-urls="+m.client, "--advertise-client-urls="+m.client, "--listen-peer-urls="+m.peer, "--initial-advertise-peer-urls="+m.peer,
		"--cert-file="+crt, "--key-file="+key, "--trusted-ca-file="+crt, "--client-cert-auth=true",
		"--peer-cert-file="+crt, "--peer-key-file="+key, "--peer-trusted-ca-file="+crt, "--peer-client-cert-auth=true",
		"--snapshot-count="+strconv.Itoa(snapshotCount), check, notify,
		"--initial-cluster="+strings.Join(initial, ","), "--initial-cluster-state="+state)
	c.must(err)
	m.process = process
	c.t.Cleanup(process.Stop)
}

// await returns when the member serves what all have agreed on.
func (c *cluster) await(m *member) {
	c.must(c.serves(m))
}

func (c *cluster) serves(m *member) error {
	return m.process.Await(c.t.Context(), func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
		defer cancel()
		_, err := m.direct.MemberList(ctx)
		return err == nil
	})
}

// log returns what the member has logged since its last start.
func (c *cluster) log(m *member) []string {
	text, err := os.ReadFile(filepath.Join(c.folder, m.name, strconv.Itoa(m.starts), "etcd.log"))
	c.must(err)
	return strings.Split(string(text), "\n")
}

// terminate ends a member as the kubelet does.
func (c *cluster) terminate(m *member) {
	c.must(syscall.Kill(m.process.PID(), syscall.SIGTERM))
	<-m.process.Done
}

// replace ends a member, and starts another version with its data.
func (c *cluster) replace(m *member, b build) {
	c.terminate(m)
	c.start(m, b, "existing")
	c.await(m)
}

// lead makes the member the leader.
func (c *cluster) lead(m *member) {
	c.retry("making "+m.name+" the leader", func(ctx context.Context) bool {
		status, err := m.direct.Status(ctx, m.client)
		if err != nil || status.Leader == status.Header.MemberId {
			return err == nil
		}
		for _, one := range c.members {
			_, _ = one.direct.MoveLeader(ctx, status.Header.MemberId) // only the leader does it
		}
		return false
	})
}

// clusterVersion returns the version that a member says all agree on.
func (c *cluster) clusterVersion(m *member) (version string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.client+"/version", http.NoBody)
	c.must(err)
	transport := &http.Transport{TLSClientConfig: c.tls}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	c.must(err)
	defer response.Body.Close()
	var said struct {
		Cluster string `json:"etcdcluster"`
	}
	c.must(json.NewDecoder(response.Body).Decode(&said))
	return said.Cluster
}

func (c *cluster) retry(what string, done func(context.Context) bool) {
	c.t.Helper()
	for range 60 {
		ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
		ok := done(ctx)
		cancel()
		if ok {
			return
		}
		time.Sleep(time.Second)
	}
	c.t.Fatalf("%s: not in a minute", what)
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}
