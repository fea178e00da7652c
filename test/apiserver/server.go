package apiserver

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

// Server is one etcd and one kube-apiserver.
type Server struct {
	// Config is that of a cluster administrator, and Etcd the address of etcd.
	Config *rest.Config
	Etcd   string

	folder  string
	program Program
	etcd    *Process
	api     *Process
}

// Program returns the path of etcd or kube-apiserver.
type Program func(name string) (path string, err error)

// New starts a server in a folder of its own, which Stop removes. flags are further flags of
// kube-apiserver.
func New(ctx context.Context, program Program, flags ...string) (*Server, error) {
	folder, err := os.MkdirTemp("", "apiserver-")
	if err != nil {
		return nil, fmt.Errorf("starting an API server: %w", err)
	}
	s := &Server{folder: folder, program: program}
	if err = s.startEtcd(ctx); err == nil {
		err = s.startAPIServer(ctx, flags)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Processes returns etcd and kube-apiserver.
func (s *Server) Processes() []*Process { return []*Process{s.etcd, s.api} }

// start starts a program of the server.
func (s *Server) start(name string, args ...string) (*Process, error) {
	path, err := s.program(name)
	if err != nil {
		return nil, err
	}
	return Start(s.folder, path, args...)
}

func (s *Server) startEtcd(ctx context.Context) error {
	clientPort, err := FreePort()
	if err != nil {
		return err
	}
	peerPort, err := FreePort()
	if err != nil {
		return err
	}
	endpoint, peer := "http://127.0.0.1:"+clientPort, "http://127.0.0.1:"+peerPort
	s.Etcd = endpoint
	s.etcd, err = s.start("etcd",
		"--data-dir="+filepath.Join(s.folder, "etcd"),
		"--listen-client-urls="+endpoint, "--advertise-client-urls="+endpoint,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
		"--unsafe-no-fsync", "--log-level=warn")
	if err != nil {
		return err
	}
	return s.etcd.Await(ctx, func() bool { return healthy(endpoint) })
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

func (s *Server) startAPIServer(ctx context.Context, flags []string) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	key, tokens, certs := filepath.Join(s.folder, "sa.key"), filepath.Join(s.folder, "tokens.csv"), filepath.Join(s.folder, "certs")
	if err := writeKey(key); err != nil {
		return err
	}
	token := rand.Text() // others on this machine reach loopback, too
	if err := os.WriteFile(tokens, []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return fmt.Errorf("writing the admin's token: %w", err)
	}
	s.api, err = s.start("kube-apiserver", append([]string{
		"--etcd-servers=" + s.Etcd, "--bind-address=127.0.0.1", "--secure-port=" + port, "--cert-dir=" + certs,
		"--token-auth-file=" + tokens, "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",                    // as of kubeadm: only levels of namespaces refuse
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that it asks for
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
	}, flags...)...)
	if err != nil {
		return err
	}
	s.Config = &rest.Config{
		Host:            "https://127.0.0.1:" + port,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certs, "apiserver.crt")},
		QPS:             -1,
	}
	return s.api.Await(ctx, s.ready)
}

// ready reports whether the server answers. It makes no client before the server has written its
// certificate as a whole: client-go keeps what it reads from CAFile for five minutes, also of a file
// that is still empty (transport/ca_rotation.go).
func (s *Server) ready() bool {
	certificate, err := os.ReadFile(s.Config.CAFile)
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(certificate) {
		return false
	}
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

// Restart kills kube-apiserver, and starts it again at the same address after a pause. It returns when
// the new one is ready, and when that was started.
func (s *Server) Restart(ctx context.Context, pause time.Duration) (started time.Time, err error) {
	s.api.Stop()
	time.Sleep(pause)
	started = time.Now()
	again, err := s.start(s.api.Name, s.api.cmd.Args[1:]...)
	if err != nil {
		return started, fmt.Errorf("restarting %s: %w", s.api.Name, err)
	}
	s.api = again
	return started, s.api.Await(ctx, s.ready)
}

// Stop ends the API server before its etcd.
func (s *Server) Stop() {
	for _, p := range []*Process{s.api, s.etcd} {
		if p != nil {
			p.Stop()
		}
	}
	_ = os.RemoveAll(s.folder) // a left-over in the temporary folder does no harm
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
