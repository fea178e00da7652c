package capi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apiserver"
)

// loopback is where all of the management cluster listens. The ports are the same after a restart, as
// clients run on meanwhile.
const (
	loopback  = "127.0.0.1"
	etcdPort  = 7379
	peerPort  = 7380
	apiPort   = 7443
	firstHook = 7444 // of the webhooks, one port for each provider
	firstLife = 7454 // of the providers' health endpoints
)

// gates are Cluster API's feature gates. Each provider knows some of them.
var gates = map[string]string{
	"core":         "RuntimeSDK=true,InPlaceUpdates=true,ClusterTopology=true",
	"bootstrap":    "KubeadmBootstrapFormatIgnition=true",
	"controlplane": "RuntimeSDK=true,InPlaceUpdates=true,ClusterTopology=true,KubeadmBootstrapFormatIgnition=true",
}

// management is the management cluster while it runs.
type management struct {
	Config
	client   *rest.Config
	programs []*apiserver.Process
}

func (m *management) certificates() certificates {
	return certificates{dir: filepath.Join(m.Dir, "pki")}
}

// start starts everything, and returns when Cluster API answers.
func (m *management) start(ctx context.Context) error {
	if err := m.certificates().make(); err != nil {
		return err
	}
	if err := m.writeKubeconfig(); err != nil {
		return err
	}
	// Webhooks are defined last: the API server would ask those that do not listen yet.
	for _, step := range []func(context.Context) error{m.startEtcd, m.startAPIServer, m.startCollector, m.defineKinds, m.startProviders, m.defineWebhooks} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes an administrator's kubeconfig, once, and the token in it for the API server.
func (m *management) writeKubeconfig() error {
	path := Kubeconfig(m.Dir)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		token := rand.Text()
		if err := os.WriteFile(m.tokens(), []byte(token+",admin,admin,system:masters\n"), 0o600); err != nil {
			return fmt.Errorf("writing the administrator's token: %w", err)
		}
		authority, err := os.ReadFile(m.certificates().authority())
		if err != nil {
			return err
		}
		config := clientcmdapi.NewConfig()
		config.Clusters["management"] = &clientcmdapi.Cluster{Server: url(apiPort), CertificateAuthorityData: authority}
		config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
		config.Contexts["management"] = &clientcmdapi.Context{Cluster: "management", AuthInfo: "admin"}
		config.CurrentContext = "management"
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			return fmt.Errorf("writing the kubeconfig of the management cluster: %w", err)
		}
	}
	var err error
	if m.client, err = clientcmd.BuildConfigFromFlags("", path); err != nil {
		return fmt.Errorf("reading the kubeconfig of the management cluster: %w", err)
	}
	m.client.QPS = -1
	return nil
}

func (m *management) tokens() string { return filepath.Join(m.Dir, "tokens.csv") }

func url(port int) string { return "https://" + net.JoinHostPort(loopback, strconv.Itoa(port)) }

func (m *management) startEtcd(ctx context.Context) error {
	clients, peers := "http://"+net.JoinHostPort(loopback, strconv.Itoa(etcdPort)), "http://"+net.JoinHostPort(loopback, strconv.Itoa(peerPort))
	return m.run(ctx, filepath.Join(m.Etcd, "etcd"), func() bool { return answers(ctx, http.DefaultClient, clients+"/health") },
		"--data-dir="+filepath.Join(m.Dir, "etcd"),
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=default="+peers,
		"--unsafe-no-fsync", "--log-level=warn")
}

func (m *management) startAPIServer(ctx context.Context) error {
	client, err := rest.HTTPClientFor(m.client)
	if err != nil {
		return err
	}
	files := m.certificates()
	return m.run(ctx, filepath.Join(m.Kubernetes, "kube-apiserver"), func() bool { return answers(ctx, client, url(apiPort)+"/readyz") },
		"--etcd-servers=http://"+net.JoinHostPort(loopback, strconv.Itoa(etcdPort)),
		"--bind-address="+loopback, "--secure-port="+strconv.Itoa(apiPort),
		"--tls-cert-file="+files.certificate(), "--tls-private-key-file="+files.key(),
		"--token-auth-file="+m.tokens(), "--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount", // no controller makes the accounts that it asks for
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+files.serviceAccount(), "--service-account-signing-key-file="+files.serviceAccount(),
		"--service-cluster-ip-range=10.96.0.0/16")
}

// startCollector runs what deletes the objects of deleted owners, and of deleted namespaces.
func (m *management) startCollector(ctx context.Context) error {
	return m.run(ctx, filepath.Join(m.Kubernetes, "kube-controller-manager"), nil,
		"--kubeconfig="+Kubeconfig(m.Dir), "--leader-elect=false", "--secure-port=0",
		"--controllers=garbage-collector-controller,namespace-controller")
}

// startProviders starts the controllers of Cluster API, and returns when all of them are ready.
func (m *management) startProviders(ctx context.Context) error {
	for i, name := range providerNames() {
		health := net.JoinHostPort(loopback, strconv.Itoa(firstLife+i))
		log := filepath.Join(m.Dir, name)
		if err := os.MkdirAll(log, 0o755); err != nil {
			return err
		}
		args := []string{
			"--kubeconfig=" + Kubeconfig(m.Dir), "--feature-gates=" + gates[name],
			"--webhook-port=" + strconv.Itoa(firstHook+i), "--webhook-cert-dir=" + m.certificates().dir,
			"--health-addr=" + health, "--diagnostics-address=0", "--v=4",
		}
		if strings.Contains(gates[name], "RuntimeSDK") {
			args = append(args, "--runtime-extension-client-cert-file="+m.certificates().client(), "--runtime-extension-client-key-file="+m.certificates().clientKey())
		}
		started, err := apiserver.Start(log, filepath.Join(m.ClusterAPI, name, "manager"), args...)
		if err != nil {
			return err
		}
		m.programs = append(m.programs, started)
		if err := started.Await(ctx, func() bool { return answers(ctx, http.DefaultClient, "http://"+health+"/readyz") }); err != nil {
			return fmt.Errorf("provider %s: %w", name, err)
		}
	}
	return nil
}

// providerNames returns the core provider first: the others use its definitions.
func providerNames() []string {
	names := []string{"core", "bootstrap", "controlplane"}
	if len(names) != len(artifacts.ClusterAPIProviders) {
		panic("every provider that is built is run") // both lists are constant
	}
	return names
}

// run starts a program whose log is in the folder, and waits until it is ready.
func (m *management) run(ctx context.Context, program string, ready func() bool, args ...string) error {
	started, err := apiserver.Start(m.Dir, program, args...)
	if err != nil {
		return err
	}
	m.programs = append(m.programs, started)
	if ready == nil {
		return nil
	}
	return started.Await(ctx, ready)
}

// answers reports whether an address answers with 200.
func answers(ctx context.Context, client *http.Client, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// wait returns when the context ends, or with an error when a program has ended.
func (m *management) wait(ctx context.Context) error {
	ended := make(chan string, len(m.programs))
	for _, program := range m.programs {
		go func() {
			<-program.Done
			ended <- program.Name
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case name := <-ended:
		return fmt.Errorf("%s of the management cluster has ended: see its log below %s", name, m.Dir)
	}
}

// stop ends the programs in the reverse of the order in which they were started.
func (m *management) stop() {
	for i := range m.programs {
		m.programs[len(m.programs)-1-i].Stop()
	}
}

// webhookURL returns the address of a provider's webhook.
func webhookURL(provider, path string) (string, error) {
	for i, name := range providerNames() {
		if name == provider {
			return url(firstHook+i) + "/" + strings.TrimPrefix(path, "/"), nil
		}
	}
	return "", fmt.Errorf("there is no provider %q", provider)
}
