// Package nodes pretends the nodes of a cluster of which only the API server is real. Each is the code of
// an agent with a pretend.Host, and what its kubelet, the node controller, the controller of its pods and
// the scheduler would do. The agents have the identities and the rights of real ones.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// First is the version that all nodes run at first.
const First = "v1.34.3"

// Config says what the nodes are like.
type Config struct {
	// API is the configuration of an administrator, who impersonates the agents and kubelets.
	API *rest.Config
	// Number of nodes, and the name of each. The first is a control plane.
	Number int
	Name   func(i int) string
	// Pods is how many pods that are evicted each node has at first.
	Pods int
	// How long the nodes pretend to take: for each verb that changes something, for a reboot, until a pod
	// has ended, and until the guard returns a node whose kubelet does not become healthy.
	Verb, Reboot, Pod, Guard time.Duration
	// Broken says whether the kubelet of a version does not become healthy. Nil: none.
	Broken func(version string) bool
	// Reschedule makes a pod that was evicted anew on another node.
	Reschedule bool
	// Dial makes the agents' connections. Nil: as usual.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Version is that of the agents. Empty: it says that they are pretended.
	Version string
	// Log receives what happens on a node, or what fails there.
	Log func(node, what string)
}

// Cluster is the nodes of one cluster.
type Cluster struct {
	Config
	Agents, Reboots atomic.Int32 // agents that run, and reboots so far

	admin kubernetes.Interface
	nodes []*node
}

// New makes the Nodes and their pods. Run makes them work.
func New(ctx context.Context, config Config) (*Cluster, error) {
	admin, err := kubernetes.NewForConfig(config.API)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Config: config, admin: admin, nodes: make([]*node, config.Number)}
	if err := kubetest.MakeKubeadmObjects(ctx, admin); err != nil {
		return nil, err
	}
	errs := make([]error, config.Number)
	parallel(config.Number, func(i int) {
		c.nodes[i] = c.newNode(config.Name(i), i == 0)
		errs[i] = c.nodes[i].makeObjects(ctx, i)
	})
	return c, errors.Join(errs...)
}

// Run starts the agents, and does what kubelets and controllers do until ctx ends. It returns when
// everything has ended.
func (c *Cluster) Run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { c.endPods(ctx) })
	for _, n := range c.nodes {
		group.Go(func() { n.run(ctx) })
		sleep(ctx, 2*time.Millisecond) // as a DaemonSet's pods do not all start at once
	}
	group.Wait()
}

// slowVerbs are the verbs that take longer than a moment.
func (c *Cluster) slowVerbs() map[verb.Verb]time.Duration {
	slow := map[verb.Verb]time.Duration{}
	for _, v := range []verb.Verb{verb.Stage, verb.Pull, verb.Snapshot, verb.Kubeadm, verb.Renew, verb.Activate} {
		slow[v] = c.Verb
	}
	return slow
}

// untilDone repeats a request while the API server does not accept it, and returns an error if ctx ends
// before.
func (c *Cluster) untilDone(ctx context.Context, node string, do func() error) error {
	for logged := time.Now(); ; sleep(ctx, time.Second) {
		err := do()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		if time.Since(logged) > 5*time.Minute {
			c.Log(node, err.Error())
			logged = time.Now()
		}
	}
}

// sleep waits, and returns at once when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// parallel calls do for 0 to n-1, a few at a time.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
