//go:build fleet

package fleetbench

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// TestFleet measures a fleet of each of the sizes in NODES, and writes lab/results/performance.md.
func TestFleet(t *testing.T) {
	idle, err := time.ParseDuration(cmp.Or(os.Getenv("IDLE"), "10m"))
	if err != nil {
		t.Fatal(err)
	}
	page := performance.Open(t)
	for size := range strings.SplitSeq(os.Getenv("NODES"), ",") {
		nodes, err := strconv.Atoi(size)
		if err != nil {
			t.Fatalf("NODES=%s: %v", os.Getenv("NODES"), err)
		}
		t.Run(size, func(t *testing.T) {
			r := measure(t, nodes, idle)
			if !t.Failed() {
				page.Record(t, record(t, page, r))
			}
		})
	}
}

// measure measures a fleet of a size.
func measure(t *testing.T, nodes int, idle time.Duration) result {
	c := newCluster(t, nodes)
	r := result{Nodes: nodes, Date: time.Now().UTC().Format(time.DateOnly), Machine: machine(), Idle: idle, Pods: c.pods()}
	r.EtcdBefore = c.etcdBytes()
	c.startCoordinator()
	c.startAgents()
	c.awaitQuiet()
	r.EtcdManaged = c.etcdBytes()
	r.Watches = c.watches()
	c.measureIdle(&r)
	c.commands(&r, "before", "status", "plan v1.34.4", "windows")
	c.measureUpgrade(&r)
	c.commands(&r, "after", "status", "report patch -o html", "history patch")
	c.awaitQuiet()
	r.EtcdAfter, r.Objects = c.etcdBytes(), c.objects()
	c.measureRestart(&r)
	return r
}
