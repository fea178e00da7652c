package agent

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// awaitReady waits until an agent is ready.
func (c *cluster) awaitReady() {
	c.t.Helper()
	for range 600 {
		if c.ready.Load() > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the agent is not ready")
}

// TestReadyAfterReport checks that the agent is ready once its node's facts are in the API,
// and says so once.
func TestReadyAfterReport(t *testing.T) {
	c := newCluster(t, "agent-ready")
	c.onReady = func() {
		if _, err := c.ours.NodeInventories.Get(context.Background(), c.node, metav1.GetOptions{}); err != nil {
			t.Errorf("ready before the facts were written: %v", err)
		}
	}
	c.run()
	c.awaitReady()
	deleteImage(c.host) // another reconcile
	time.Sleep(2 * time.Second)
	if n := c.ready.Load(); n != 1 {
		t.Errorf("it was ready %d times, want once", n)
	}
}

// TestReadyWithoutReport checks that an agent which cannot report is ready after a while: it
// runs, and a rollout must not wait for a node that needs a person.
func TestReadyWithoutReport(t *testing.T) {
	c := newCluster(t, "agent-unready")
	c.readyWithin = 2 * time.Second
	c.host.Hang(verb.Facts)
	began := time.Now()
	c.run()
	c.awaitReady()
	if took := time.Since(began); took < c.readyWithin {
		t.Errorf("it was ready after %s, without a report", took)
	}
}

// TestReadyWhileAnotherNodeIsAway checks that an agent which starts on a control plane while another node has a slot is ready
// at once, though it does not ask etcd before that node is back.
func TestReadyWhileAnotherNodeIsAway(t *testing.T) {
	c := newControlPlane(t, "agent-ready-away")
	other := clusterstate.Owner{Node: "w1", UID: "uid-w1"}
	c.must(c.slots.Reserve(t.Context(), clusterstate.SlotName(0), other))
	c.must(c.slots.Take(t.Context(), clusterstate.SlotName(0), other))
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitReady()
	if _, err := c.ours.NodeInventories.Get(t.Context(), c.node, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the facts were written without those of etcd: %v", err)
	}
}
