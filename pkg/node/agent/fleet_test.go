//go:build fleet

package agent

import (
	"context"
	"encoding/json"
	"net/http"
	_ "net/http/pprof" //nolint:gosec // for whoever looks for what takes time
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// How long the fleet's nodes pretend to take.
const (
	fleetVerb   = time.Second // each verb that changes something
	fleetReboot = 40 * time.Second
	fleetPod    = 2 * time.Second // a pod, to end
)

// fleetPods is how many pods each node of the fleet has that are evicted.
const fleetPods = 3

// manyNodes are the nodes of a large cluster of which only the API server is real: each is an
// agent with a fakeHost, and what its kubelet would do.
type manyNodes struct {
	*testing.T
	config *rest.Config
	admin  kubernetes.Interface
	nodes  []*fleetNode
	probes fleetProbes

	in, out atomic.Int64 // bytes of the agents' connections
	dials   atomic.Int64
	agents  atomic.Int32 // that run
	reboots atomic.Int32
	made    atomic.Bool // whether all objects exist
	start   chan struct{}
	once    sync.Once
}

// fleetStats is what package fleetbench reads of the fleet.
type fleetStats struct {
	Made            bool
	Agents, Reboots int32
	In, Out, Dials  int64
	// Kubeadm, Node are how long a node pretends to take for pass 1, and from its slot to
	// the end of its reboot.
	Kubeadm, Node time.Duration
	Probes        probeStats
}

// TestFleet is no test, but the program that package fleetbench runs: the nodes of a cluster
// at the API server FLEET_SERVER, until the program is killed. It makes FLEET_SIZE Nodes with
// their pods, and starts their agents when it is told to at the address FLEET_ADDRESS.
func TestFleet(t *testing.T) {
	config := &rest.Config{
		Host: os.Getenv("FLEET_SERVER"), BearerToken: os.Getenv("FLEET_TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{CAFile: os.Getenv("FLEET_CA")}, QPS: -1,
	}
	size, err := strconv.Atoi(os.Getenv("FLEET_SIZE"))
	if err != nil {
		t.Fatal(err)
	}
	f := &manyNodes{T: t, config: config, admin: kubernetes.NewForConfigOrDie(config), start: make(chan struct{})}
	http.HandleFunc("GET /stats", f.serveStats)
	http.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) { f.once.Do(func() { close(f.start) }) })
	go func() { t.Error(http.ListenAndServe(os.Getenv("FLEET_ADDRESS"), nil)) }() //nolint:gosec // it ends with the benchmark
	ctx := t.Context()
	f.makeObjects(ctx, size)
	f.made.Store(true)
	<-f.start
	go f.endPods(ctx)
	for _, n := range f.nodes {
		n.startAgent()
		go n.beat(ctx)
		time.Sleep(2 * time.Millisecond) // as a DaemonSet's pods do not all start at once
	}
	f.probe(ctx)
	<-ctx.Done()
}

func (f *manyNodes) serveStats(w http.ResponseWriter, _ *http.Request) {
	_ = json.NewEncoder(w).Encode(fleetStats{
		Made: f.made.Load(), Agents: f.agents.Load(), Reboots: f.reboots.Load(),
		In: f.in.Load(), Out: f.out.Load(), Dials: f.dials.Load(),
		Kubeadm: 3 * fleetVerb, // snapshot, pull, kubeadm
		Node:    2*fleetVerb + fleetPod + fleetReboot,
		Probes:  f.probes.take(),
	})
}

// slowVerbs are the verbs that take longer than a moment.
func slowVerbs() map[verb.Verb]time.Duration {
	slow := map[verb.Verb]time.Duration{}
	for _, v := range []verb.Verb{verb.Stage, verb.Pull, verb.Snapshot, verb.Kubeadm, verb.Activate} {
		slow[v] = fleetVerb
	}
	return slow
}

// parallel calls do for 0 to n-1, a few at a time.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(ctx, i)
			}
		})
	}
	group.Wait()
}
