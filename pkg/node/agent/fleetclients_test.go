//go:build fleet

package agent

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// connections are those of one agent. client-go would share them between agents, as they all
// run in this process.
type connections struct {
	*manyNodes
	mu   sync.Mutex
	open []net.Conn
}

// account and kubelet return configurations as Connect makes them, but with the
// administrator's token, who impersonates the identities.
func (c *connections) account(node string) *rest.Config {
	config := c.as("system:serviceaccount:"+v1alpha1.Namespace+":node-agent", "system:serviceaccounts", "system:serviceaccounts:"+v1alpha1.Namespace)
	config.UserAgent = "kubectl-upgrade-agent"
	config.Impersonate.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	return config
}

func (c *connections) kubelet(node string) *rest.Config {
	config := c.as("system:node:"+node, "system:nodes")
	config.UserAgent = "kubectl-upgrade-agent/kubelet"
	return config
}

func (c *connections) as(user string, groups ...string) *rest.Config {
	config := &rest.Config{
		Host: c.config.Host, BearerToken: c.config.BearerToken, Transport: c.transport(), QPS: 50, Burst: 200,
		Impersonate: rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")},
	}
	config.Wrap(retryReads)
	return config
}

func (c *connections) transport() http.RoundTripper {
	settings, err := rest.TLSConfigFor(c.config)
	if err != nil {
		c.Error(err)
		settings = &tls.Config{} //nolint:gosec // no connection is made with it
	}
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: settings, DialContext: c.dial})
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.dials.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, conn)
	return &counted{conn, c.manyNodes}, nil
}

// close closes the connections, as the end of the agent's process does.
func (c *connections) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
}

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	fleet *manyNodes
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.fleet.in.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.fleet.out.Add(int64(n))
	return n, err
}
