//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/probe"
)

// awayAtMost is how long the API may be down at its stable endpoint.
const awayAtMost = 5 * time.Second

// watchers probe the API server and each member of etcd from outside.
type watchers struct {
	api     *probe.Probe
	members []*probe.Probe
}

// watchControlPlane probes until the test ends.
func (c *testCluster) watchControlPlane(t *testing.T) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	c.watchers.api = probe.New("api", config.Host+"/readyz", &http.Transport{TLSClientConfig: transport}, 100*time.Millisecond)
	etcd := c.etcdTLS(t)
	for _, node := range c.controlPlanes() {
		endpoint, err := network.Lookup(node)
		if err != nil {
			t.Fatal(err)
		}
		// serializable: the answer of this member, without the leader.
		url := "https://" + endpoint.Address.String() + ":2379/health?serializable=true"
		c.watchers.members = append(c.watchers.members, probe.New(node, url, &http.Transport{TLSClientConfig: etcd}, 200*time.Millisecond))
	}
	ctx, stop := context.WithCancel(c.ctx)
	t.Cleanup(stop)
	for _, p := range append(c.watchers.members, c.watchers.api) {
		go p.Run(ctx)
	}
}

// etcdTLS returns the client certificate that kubeadm's health check uses.
func (c *testCluster) etcdTLS(t *testing.T) *tls.Config {
	t.Helper()
	read := func(name string) []byte {
		return []byte(c.must(t)(c.Exec(c.ctx, c.nodes[0], "cat", "/etc/kubernetes/pki/etcd/"+name)))
	}
	pair, err := tls.X509KeyPair(read("healthcheck-client.crt"), read("healthcheck-client.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(read("ca.crt")) {
		t.Fatal("the certificate authority of etcd cannot be read")
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12}
}

func (c *testCluster) controlPlanes() []string {
	var names []string
	for _, name := range c.nodes {
		if strings.HasPrefix(name, "cp") {
			names = append(names, name)
		}
	}
	return names
}

// checkControlPlaneAnswered checks that the API was never down for long, and that a majority of
// etcd's members answered at every moment.
func (c *testCluster) checkControlPlaneAnswered(t *testing.T) {
	t.Helper()
	answers := c.watchers.api.Answers()
	gap := probe.Longest(answers)
	t.Logf("the API was probed %d times; the longest time without an answer was %s", len(answers), gap.Length().Round(time.Millisecond))
	if len(answers) < 1000 {
		t.Errorf("the API was probed only %d times", len(answers))
	}
	if gap.Length() > awayAtMost {
		t.Error(c.told(gap.From, gap.To, fmt.Sprintf("the API did not answer from %s for %s", gap.From.Format(time.TimeOnly), gap.Length())))
	}
	var members [][]probe.Answer
	for _, p := range c.watchers.members {
		members = append(members, p.Answers())
		t.Logf("etcd on %s was probed %d times; the longest time without an answer was %s", p.Name, len(p.Answers()), probe.Longest(p.Answers()).Length().Round(time.Millisecond))
	}
	fewest, when := probe.Fewest(members...)
	t.Logf("at least %d of %d members of etcd answered at every moment", fewest, len(members))
	if quorum := len(members)/2 + 1; fewest < quorum {
		t.Error(c.told(when, when, fmt.Sprintf("at %s only %d members of etcd answered", when.Format(time.TimeOnly), fewest)))
	}
}
