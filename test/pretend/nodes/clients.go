package nodes

import (
	"context"
	"net"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/agent"
)

// connections are those of one agent. client-go would share them between agents, as they all
// run in this process.
type connections struct {
	*Cluster
	mu   sync.Mutex
	open []net.Conn
}

// clients returns those of a node's agent: the administrator's, who impersonates its two identities.
func (c *connections) clients(node string) (*agent.Clients, error) {
	account, err := c.as("system:serviceaccount:"+v1alpha1.Namespace+":node-agent", "system:serviceaccounts", "system:serviceaccounts:"+v1alpha1.Namespace)
	if err != nil {
		return nil, err
	}
	account.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	kubelet, err := c.kubelet(node)
	if err != nil {
		return nil, err
	}
	return agent.NewClients(account, kubelet)
}

// kubelet is the access of a node's kubelet.
func (c *connections) kubelet(node string) (*rest.Config, error) {
	return c.as("system:node:"+node, "system:nodes")
}

func (c *connections) as(user string, groups ...string) (*rest.Config, error) {
	settings, err := rest.TLSConfigFor(c.API)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: c.API.Host, BearerToken: c.API.BearerToken,
		Transport:   utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: settings, DialContext: c.dial}),
		Impersonate: rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")},
	}, nil
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conn)
	return conn, nil
}

// close closes the connections, as the end of the agent's process does.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
}
