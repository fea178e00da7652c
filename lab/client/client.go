// Package client is a client machine outside the cluster that is never down: a
// network namespace on the lab's bridge with a real kube-proxy. Its connections
// reach a Service as a pod's would, so its failures are those that users of the
// service would see.
package client

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Config describes the client's place in the network.
type Config struct {
	Name       string            // of the network namespace
	Bridge     string            // to join
	Address    string            // of the client on the bridge, with its prefix length: 10.88.0.9/24
	Gateway    string            // the kernel wants a way to a Service's address before kube-proxy rewrites it
	Routes     map[string]string // pod subnet to the node's address that leads there
	KubeProxy  string            // the program
	Kubeconfig string            // that kube-proxy watches Services with
	Node       string            // any node's name: kube-proxy insists on a Node of its own
	Dir        string            // for kube-proxy's configuration and log
}

// Client is a running client machine.
type Client struct {
	config Config
	stop   context.CancelFunc
	done   chan struct{}
}

// Start makes the namespace, replacing one that a killed run left behind, and
// starts kube-proxy in it. The client lives until Stop.
func Start(ctx context.Context, config Config) (*Client, error) {
	c := &Client{config: config, done: make(chan struct{})}
	c.remove(ctx)
	if err := c.join(ctx); err != nil {
		c.remove(ctx)
		return nil, err
	}
	if err := c.startProxy(); err != nil {
		c.remove(ctx)
		return nil, err
	}
	return c, nil
}

// Stop ends kube-proxy and removes the namespace.
func (c *Client) Stop() {
	c.stop()
	<-c.done
	c.remove(context.Background())
}

func (c *Client) join(ctx context.Context) error {
	name, outside := c.config.Name, "lab-"+c.config.Name
	in := slices.Clip([]string{"-n", name})
	steps := [][]string{
		{"netns", "add", name},
		{"link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"link", "set", outside, "master", c.config.Bridge, "up"},
		append(in, "link", "set", "lo", "up"),
		append(in, "link", "set", "eth0", "up"),
		append(in, "addr", "add", c.config.Address, "dev", "eth0"),
	}
	steps = append(steps, append(in, "route", "add", "default", "via", c.config.Gateway))
	for subnet, via := range c.config.Routes {
		steps = append(steps, []string{"-n", name, "route", "add", subnet, "via", via})
	}
	for _, args := range steps {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("making the client's network: ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// remove does not report what does not exist.
func (c *Client) remove(ctx context.Context) {
	_ = exec.CommandContext(ctx, "ip", "link", "del", "lab-"+c.config.Name).Run()
	_ = exec.CommandContext(ctx, "ip", "netns", "del", c.config.Name).Run()
}

func (c *Client) proxyConfig() string {
	address, _, _ := strings.Cut(c.config.Address, "/")
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: %q}
bindAddress: %q
hostnameOverride: %q
conntrack: {maxPerCore: 0, min: 0}
`, c.config.Kubeconfig, address, c.config.Node)
}

func (c *Client) startProxy() error {
	file := filepath.Join(c.config.Dir, "client-proxy.yaml")
	if err := os.WriteFile(file, []byte(c.proxyConfig()), 0o600); err != nil {
		return fmt.Errorf("writing kube-proxy's configuration: %w", err)
	}
	log, err := os.Create(filepath.Join(c.config.Dir, "client-proxy.log"))
	if err != nil {
		return fmt.Errorf("opening kube-proxy's log: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	cmd := exec.CommandContext(ctx, "nsenter", "--net="+c.handle(), c.config.KubeProxy, "--config", file)
	cmd.Stdout, cmd.Stderr = log, log
	started := make(chan error)
	go run(cmd, log, started, c.done)
	return <-started
}

// handle is the file that stands for the namespace.
func (c *Client) handle() string { return filepath.Join("/var/run/netns", c.config.Name) }

// DialContext connects from inside the namespace; it fits http.Transport.
func (c *Client) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return dialIn(ctx, c.handle(), network, address)
}
