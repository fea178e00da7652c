// Command fleet is the program that package fleetbench runs: the nodes of a cluster at the API server
// FLEET_SERVER, until it is killed. It makes FLEET_SIZE Nodes with their pods, and starts their agents when
// it is told to at the address FLEET_ADDRESS.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" //nolint:gosec // to see what takes time
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/pretend/nodes"
)

// How long the fleet's nodes pretend to take.
const (
	verbTakes   = time.Second // each verb that changes something
	rebootTakes = 40 * time.Second
	podTakes    = 2 * time.Second // a pod, to end
)

// fleet is the nodes, with what is measured of them.
type fleet struct {
	cluster *nodes.Cluster
	probes  fleetProbes
	made    atomic.Bool  // whether all objects exist
	in, out atomic.Int64 // bytes of the agents' connections
	dials   atomic.Int64
}

// stats is what package fleetbench reads of the fleet.
type stats struct {
	Made            bool
	Agents, Reboots int32
	In, Out, Dials  int64
	// Kubeadm, Node are how long a node pretends to take for pass 1, and from its slot to
	// the end of its reboot.
	Kubeadm, Node time.Duration
	Probes        probeStats
}

func main() {
	size, err := strconv.Atoi(os.Getenv("FLEET_SIZE"))
	if err != nil {
		log.Fatal(err)
	}
	f, ctx, start := &fleet{}, context.Background(), make(chan struct{})
	http.HandleFunc("GET /stats", f.serveStats)
	var once sync.Once
	http.HandleFunc("POST /start", func(http.ResponseWriter, *http.Request) { once.Do(func() { close(start) }) })
	go func() { log.Fatal(http.ListenAndServe(os.Getenv("FLEET_ADDRESS"), nil)) }() //nolint:gosec // it ends with the benchmark
	cluster, err := nodes.New(ctx, nodes.Config{
		API: &rest.Config{
			Host: os.Getenv("FLEET_SERVER"), BearerToken: os.Getenv("FLEET_TOKEN"),
			TLSClientConfig: rest.TLSClientConfig{CAFile: os.Getenv("FLEET_CA")}, QPS: -1,
		},
		Number: size, Name: name, Pods: 3,
		Verb: verbTakes, Reboot: rebootTakes, Pod: podTakes,
		Dial: f.dial, Log: func(string, string) {},
	})
	if err != nil {
		log.Fatal(err)
	}
	f.cluster = cluster
	f.made.Store(true)
	<-start
	f.probe(ctx)
	cluster.Run(ctx)
}

func name(i int) string {
	if i == 0 {
		return "cp0000"
	}
	return fmt.Sprintf("w%04d", i)
}

func (f *fleet) serveStats(w http.ResponseWriter, _ *http.Request) {
	s := stats{
		Made: f.made.Load(),
		In:   f.in.Load(), Out: f.out.Load(), Dials: f.dials.Load(),
		Kubeadm: 3 * verbTakes, // snapshot, pull, kubeadm
		Node:    2*verbTakes + podTakes + rebootTakes,
	}
	if s.Made {
		s.Agents, s.Reboots, s.Probes = f.cluster.Agents.Load(), f.cluster.Reboots.Load(), f.probes.take()
	}
	_ = json.NewEncoder(w).Encode(s)
}

func (f *fleet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	f.dials.Add(1)
	return &counted{conn, f}, nil
}

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	fleet *fleet
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
