package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// clockAhead returns by how much the node's clock is ahead of the API server's.
func (c *Config) clockAhead() time.Duration {
	if c.ClockAhead == nil {
		return 0
	}
	return c.ClockAhead()
}

// AccountDir is where a pod finds its ServiceAccount.
const AccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Clients are the two identities of an agent.
type Clients struct {
	Account, Kubelet kube.Interface
	Upgrades         *kube.Kinds
	// Clock compares the node's clock with the API server's.
	Clock *kube.Clock
}

// connect makes clients for the API server that the kubelet's own kubeconfig
// names: it can be reached without cluster DNS, CNI and kube-proxy. Certificate
// and token are named as files, which client-go reads again when they rotate.
func connect(a *ownAccess, accountDir string) (*Clients, error) {
	return NewClients(a.ofAccount(accountDir), a.ofKubelet(accountDir))
}

// ofKubelet returns the way to the API server for the kubelet's own identity.
func (a *ownAccess) ofKubelet(dir string) *rest.Config {
	kubelet := rest.CopyConfig(a.Config)
	if kubelet.CAFile != "" {
		kubelet.CAFile = a.ofAccount(dir).CAFile
	}
	return kubelet
}

// ofAccount returns the same way to the API server for the ServiceAccount.
func (a *ownAccess) ofAccount(dir string) *rest.Config {
	tls := rest.TLSClientConfig{CAData: a.Config.CAData, ServerName: a.Config.ServerName, Insecure: a.Config.Insecure}
	if a.Config.CAFile != "" {
		// A file of the host that the pod does not mount; this one holds the same.
		tls.CAFile = filepath.Join(dir, "ca.crt")
	}
	return &rest.Config{
		Host: a.Config.Host, APIPath: a.Config.APIPath, Proxy: a.Config.Proxy,
		BearerTokenFile: filepath.Join(dir, "token"), TLSClientConfig: tls,
	}
}

// NewClients makes the clients of an agent for its two identities, and changes these configurations.
func NewClients(account, kubelet *rest.Config) (*Clients, error) {
	account.UserAgent, kubelet.UserAgent = "kubectl-upgrade-agent", "kubectl-upgrade-agent/kubelet"
	c := Clients{Clock: &kube.Clock{}}
	for _, config := range []*rest.Config{account, kubelet} {
		// A full node has a few hundred pods, each asked about in a round.
		config.QPS, config.Burst = 50, 200
		config.Wrap(retryReads)
		kube.RefuseRedirects(config)
	}
	account.Wrap(c.Clock.Wrap)
	var err error
	if c.Kubelet, err = kube.NewForConfig(kubelet); err != nil {
		return nil, fmt.Errorf("making a client with the kubelet's identity: %w", err)
	}
	if c.Account, err = kube.NewForConfig(account); err != nil {
		return nil, fmt.Errorf("making a client with the ServiceAccount's identity: %w", err)
	}
	if c.Upgrades, err = kube.NewKinds(account); err != nil {
		return nil, err
	}
	return &c, nil
}

// dialRetryPause is the pause before a read is retried, on average: agents that lost the API
// server at the same moment do not all come back at the same moment.
const dialRetryPause = 500 * time.Millisecond

// retryReads retries reads while the API server is unreachable, until their context ends.
// Without it a watch waits up to half a minute between two attempts, and would see that
// much later that the API server is back.
//
// It removes Retry-After from answers to writes: client-go would otherwise repeat a refused
// eviction for minutes, without asking the rules again.
func retryReads(next http.RoundTripper) http.RoundTripper {
	return readRetrier{next: next}
}

type readRetrier struct {
	next http.RoundTripper
}

func (p readRetrier) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		response, err := p.next.RoundTrip(r)
		if err == nil && r.Method != http.MethodGet {
			response.Header.Del("Retry-After")
		}
		if err == nil || r.Method != http.MethodGet || !notConnected(err) {
			return response, err
		}
		select {
		case <-r.Context().Done():
			return nil, err
		case <-time.After(dialRetryPause/2 + rand.N(dialRetryPause)): //nolint:gosec // no secret
		}
	}
}

// notConnected reports whether the connection failed, so that no request was sent.
func notConnected(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}
