package apitest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// adminToken is good on loopback, for a server that lives for one test run.
const adminToken = "apitest-admin"

// server is one etcd and one kube-apiserver.
type server struct {
	folder    string
	processes []*process
	etcd      string // the address of its clients' port
	config    *rest.Config
	baseline  map[string]pair // what was in etcd after the setup of Fresh
}

// newServer starts a server. flags are further flags of kube-apiserver.
func newServer(flags ...string) (*server, error) {
	folder, err := os.MkdirTemp("", "apitest-")
	if err != nil {
		return nil, fmt.Errorf("starting an API server: %w", err)
	}
	s := &server{folder: folder}
	s.etcd, err = s.startEtcd()
	if err == nil {
		err = s.startAPIServer(flags)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *server) startEtcd() (endpoint string, err error) {
	clientPort, err := FreePort()
	if err != nil {
		return "", err
	}
	peerPort, err := FreePort()
	if err != nil {
		return "", err
	}
	endpoint, peer := "http://127.0.0.1:"+clientPort, "http://127.0.0.1:"+peerPort
	p, err := startProcess(s.folder, "etcd",
		"--data-dir="+filepath.Join(s.folder, "etcd"),
		"--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync", "--log-level=warn")
	if err != nil {
		return "", err
	}
	s.processes = append(s.processes, p)
	return endpoint, p.await(func() bool { return healthy(endpoint) })
}

func healthy(endpoint string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/health", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (s *server) startAPIServer(flags []string) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	key, tokens, certs := filepath.Join(s.folder, "sa.key"), filepath.Join(s.folder, "tokens.csv"), filepath.Join(s.folder, "certs")
	if err := writeKey(key); err != nil {
		return err
	}
	if err := os.WriteFile(tokens, []byte(adminToken+",admin,admin,system:masters\n"), 0o600); err != nil {
		return fmt.Errorf("writing the admin's token: %w", err)
	}
	p, err := startProcess(s.folder, "kube-apiserver", append([]string{
		"--etcd-servers=" + s.etcd, "--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + certs,
		"--token-auth-file=" + tokens, "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that it asks for
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
	}, flags...)...)
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	s.config = &rest.Config{
		Host:            "https://127.0.0.1:" + port,
		BearerToken:     adminToken,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certs, "apiserver.crt")},
		QPS:             -1,
	}
	return p.await(s.ready)
}

// ready reports whether the server answers. It makes no client before the server has written its
// certificate as a whole: client-go keeps what it reads from CAFile for five minutes, also of a file
// that is still empty (transport/ca_rotation.go).
func (s *server) ready() bool {
	certificate, err := os.ReadFile(s.config.CAFile)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(certificate) {
		return false
	}
	client, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

// stop ends the API server before its etcd.
func (s *server) stop() {
	for i := len(s.processes) - 1; i >= 0; i-- {
		s.processes[i].stop()
	}
	_ = os.RemoveAll(s.folder) // a left-over in the temporary folder harms no test
}

// writeKey makes the key that service account tokens are signed with.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, block, 0o600); err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	return nil
}
