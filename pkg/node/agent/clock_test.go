package agent

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestWrongClockHolds checks that a node whose clock differs from the API server's does not begin,
// reports that in its inventory, and begins once its clock is right.
func TestWrongClockHolds(t *testing.T) {
	c := newCluster(t, "agent-clock")
	c.kubelet()
	c.clockAhead.Store(int64(-3 * time.Minute))
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the node is held", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonClockDiffers })
	if status.Slot != "" || !strings.Contains(status.Message, "3m0s behind the API server's") {
		t.Errorf("status %+v", status)
	}
	reported := func(want int32) {
		t.Helper()
		c.await("it is in the inventory", func(agentStatus) bool {
			inventory, err := c.ours.NodeInventories.Get(t.Context(), c.node, metav1.GetOptions{})
			return err == nil && inventory.ClockAheadSeconds == want
		})
	}
	reported(-180)
	c.clockAhead.Store(0)
	c.awaitStep(v1alpha1.StepIdle)
	reported(0)
	c.checkFree()
}
