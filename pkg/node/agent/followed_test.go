package agent

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ofUpgrade makes an order that of another upgrade.
func ofUpgrade(reference v1alpha1.UpgradeReference) func(*v1alpha1.NodeUpgradeSpec) {
	return func(spec *v1alpha1.NodeUpgradeSpec) { spec.Upgrade = &reference }
}

// setPolicyUpgrade makes an upgrade the one that nodes follow which join late, until the
// test ends.
func (c *cluster) setPolicyUpgrade(upgrade v1alpha1.UpgradeReference) {
	c.t.Helper()
	set := func(status v1alpha1.UpgradePolicyStatus) {
		policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Status: status}
		_, err := c.ours.UpgradePolicies.Apply(context.Background(), policy, "test", "status")
		c.must(err)
	}
	set(v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{Version: "v1.34.4", Upgrade: &upgrade, Images: []v1alpha1.Image{patchImage()}}})
	c.t.Cleanup(func() { set(v1alpha1.UpgradePolicyStatus{}) })
}

// TestUpgradeIsIdentifiedByUID checks that an order is not followed if another upgrade has
// the name of its upgrade by now, unless the UpgradePolicy names the upgrade for nodes that
// join late. Then windows count.
func TestUpgradeIsIdentifiedByUID(t *testing.T) {
	c := newCluster(t, "agent-uid")
	c.kubelet()
	gone := v1alpha1.UpgradeReference{Name: "patch", UID: "of-the-deleted-one"}
	c.order(v1alpha1.ReleaseNode, ofUpgrade(gone))
	c.run()
	status := c.await("the reason is UpgradeWithdrawn", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonUpgradeWithdrawn })
	if status.Step != v1alpha1.StepStaging || *status.Upgrade != gone || status.Slot != "" {
		t.Errorf("status %+v", status)
	}
	thaw := c.freeze("frozen", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.setPolicyUpgrade(gone)
	c.await("windows count", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonExcluded })
	thaw()
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestHoldLabelIsReadLive checks that a node with the hold label does not begin, and that one
// which has begun finishes.
func TestHoldLabelIsReadLive(t *testing.T) {
	c := newCluster(t, "agent-hold")
	c.pod("default", "web-"+c.node, replicated)
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"=")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the reason is OnHold", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOnHold })
	if status.Step != v1alpha1.StepLocking || status.Slot != "" {
		t.Errorf("status %+v", status)
	}
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"-")
	c.awaitStep(v1alpha1.StepDraining)
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"=")
	c.kubelet()
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestSlotIsKeptWhileObserving checks that a node keeps its slot for minReadySeconds, also
// if its agent is replaced meanwhile.
func TestSlotIsKeptWhileObserving(t *testing.T) {
	c := newCluster(t, "agent-observed")
	c.kubelet()
	c.order(v1alpha1.ReleaseNode, func(spec *v1alpha1.NodeUpgradeSpec) { spec.MinReadySeconds = ptr.To[int32](8) })
	c.run()
	status := c.await("it reports when it ends", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepObserving && s.Reason == v1alpha1.ReasonObserving && s.StepEndTime != nil
	})
	if status.Slot != "slot-0" {
		t.Errorf("status %+v", status)
	}
	c.kill()
	c.run()
	status = c.awaitStep(v1alpha1.StepIdle)
	for _, step := range status.Steps {
		if took := step.EndTime.Sub(step.StartTime.Time); step.Step == v1alpha1.StepObserving && took < 4*time.Second {
			t.Errorf("the node was observed for %s, want 4s", took)
		}
	}
	c.checkFree()
}

// TestStatusOfCoordinatorStays checks that the agent keeps what the coordinator wrote to the
// status, and clears its own part when there is no upgrade.
func TestStatusOfCoordinatorStays(t *testing.T) {
	c := newCluster(t, "agent-shared")
	c.kubelet()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepIdle)
	now, until := metav1.NewTime(time.Now().Truncate(time.Second)), metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	hold := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	hold.Status.HoldEndTime = &until
	hold.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAdmitted, Status: metav1.ConditionFalse, Reason: "WindowClosed", Message: "closed", LastTransitionTime: now}}
	_, err := c.ours.NodeUpgrades.Apply(t.Context(), hold, "coordinator", "status")
	c.must(err)
	c.order(v1alpha1.ReleaseNone, func(spec *v1alpha1.NodeUpgradeSpec) { *spec = v1alpha1.NodeUpgradeSpec{Managed: true} })
	status := c.await("the upgrade is over", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonNoUpgrade })
	if reason, message := status.Hold(); reason != v1alpha1.ReasonWindowClosed || message != "closed" || !status.HoldEndTime.Equal(&until) {
		t.Errorf("the hold is %s: %s until %v, want WindowClosed: closed until %v", reason, message, status.HoldEndTime, until)
	}
	want := v1alpha1.NodeVersions{Kubelet: "v1.34.4", Kubeadm: "v1.34.4", NextBoot: "v1.34.4"}
	if status.Upgrade != nil || len(status.Steps) > 0 || status.Retry != (v1alpha1.Retry{}) || status.Method != "" || status.Versions != want {
		t.Errorf("status %+v", status)
	}
	if !c.orderObserved() {
		t.Error("the status does not answer the order")
	}
}
