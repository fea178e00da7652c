package coordinator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// TestAbandonedNodeReturnsWhenAgentReports abandons a node that hangs with its slot: the
// others are upgraded without it. When its agent reports again, so is the node.
func TestAbandonedNodeReturnsWhenAgentReports(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2", "w3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	for _, name := range []string{"cp1", "w2", "w3"} {
		c.startAgent(name)
	}
	w1 := c.manualAgent("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.report(t.Context(), v1alpha1.StepWaiting)
	c.startCoordinator("one")
	taken := ""
	c.eventually(func() string {
		name, err := w1.take(t.Context())
		taken = name
		return describeError("w1 waits for a slot", err)
	})
	w1.outages.begin("w1")
	w1.status.Slot = taken
	w1.status.ObservedGeneration = c.nodeUpgrade("w1").Generation
	w1.report(t.Context(), v1alpha1.StepDraining)
	c.eventually(c.upgraded("w3"))
	c.eventually(c.slotHeldBy(taken, w1.me.String()))

	c.abandon("w1", "its disk died")
	c.eventually(c.slotHeldBy(taken, ""))
	c.eventually(c.succeeded("v1.34.4"))
	c.eventually(func() string {
		u := c.nodeUpgrade("w1")
		if reason, _ := u.Status.Hold(); reason != v1alpha1.ReasonAbandoned || u.Spec.Release.Granted() {
			return fmt.Sprintf("w1 is released for %s and held by %s, want no release and Abandoned", u.Spec.Release, reason)
		}
		return ""
	})
	if reason, _ := c.nodeUpgrade("w2").Status.Hold(); reason == v1alpha1.ReasonAbandoned {
		t.Error("w2 is held by Abandoned, want w1 only")
	}
	// A status from before the agent hung arrives late.
	w1.status.KubeadmLog = "late"
	w1.report(t.Context(), v1alpha1.StepDraining)
	time.Sleep(time.Second)
	if c.nodeUpgrade("w1").Abandoned == nil {
		t.Fatal("w1 returned because of a status from before it was abandoned")
	}
	// The agent continues, reads that its node was abandoned, and puts it back into service.
	w1.outages.end("w1")
	w1.status.Slot = ""
	w1.status.Step = v1alpha1.StepWaiting
	before := len(c.outages.nodes())
	c.startAgent("w1")
	c.eventually(c.upgraded("w1"))
	if again := c.outages.nodes()[before:]; !slices.Equal(again, []string{"w1"}) {
		t.Errorf("after its return %v went out of service, want w1 once", again)
	}
	if c.nodeUpgrade("w1").Abandoned != nil {
		t.Error("w1 still has the field abandoned")
	}
	c.outages.check(c)
	c.awaitEvents("w1", "Returned")
	c.checkNoWrites()
}

// manualAgent returns an agent that the test moves step by step.
func (c *cluster) manualAgent(name string) *agent {
	c.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	u := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID,
	}}}}
	_, err = c.ours.NodeUpgrades.Apply(c.Context(), u, "coordinator", "")
	c.must(err)
	return &agent{cluster: c, me: clusterstate.Owner{Node: name, UID: string(node.UID)}, slots: slot.New(c.kube.CoordinationV1().Leases(v1alpha1.Namespace), c.kube.CoreV1().Nodes(), slot.Unwatched)}
}

func (c *cluster) nodeUpgrade(name string) *v1alpha1.NodeUpgrade {
	c.Helper()
	u, err := c.ours.NodeUpgrades.Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	return u
}

// abandon abandons a node as `kubectl upgrade abandon` does.
func (c *cluster) abandon(name, reason string) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"abandoned":{"comment":%q}}`, reason)
	_, err := c.ours.NodeUpgrades.Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-upgrade"})
	c.must(err)
}

func describeError(what string, err error) string {
	if err != nil {
		return what + ": " + err.Error()
	}
	return ""
}
