package agent

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ofUpgrade makes an order part of another upgrade.
func ofUpgrade(reference v1alpha1.UpgradeReference) func(*v1alpha1.NodeUpgradeSpec) {
	return func(spec *v1alpha1.NodeUpgradeSpec) { spec.Upgrade = &reference }
}

// brought has the UpgradePolicy remember an upgrade, until the test ends.
func (c *cluster) brought(upgrade v1alpha1.UpgradeReference) {
	c.t.Helper()
	policy := &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	_, err := c.ours.UpgradePolicies.Apply(c.t.Context(), policy, "test", "")
	c.must(err)
	c.t.Cleanup(func() {
		c.must(c.ours.UpgradePolicies.Delete(context.Background(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	})
	policy = &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}
	policy.Status = v1alpha1.UpgradePolicyStatus{Version: "v1.34.4", Upgrade: &upgrade, Images: []v1alpha1.Image{patchImage()}}
	_, err = c.ours.UpgradePolicies.Apply(c.t.Context(), policy, "test", "status")
	c.must(err)
}

// An order of an upgrade whose name another one bears by now is not followed; one
// of an upgrade that late nodes are still to follow is, inside windows.
func TestUpgradeIsKnownByItsUID(t *testing.T) {
	c := newCluster(t, "agent-uid")
	c.kubelet()
	gone := v1alpha1.UpgradeReference{Name: "patch", UID: "of-the-deleted-one"}
	c.order(v1alpha1.ReleaseNode, ofUpgrade(gone))
	c.run()
	status := c.await("it says so", func(s told) bool { return s.Reason == v1alpha1.ReasonUpgradeWithdrawn })
	if status.Step != v1alpha1.StepStaging || *status.Upgrade != gone || status.Slot != "" {
		t.Errorf("status %+v", status)
	}
	thaw := c.freeze("frozen", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	c.brought(gone)
	c.await("windows count", func(s told) bool { return s.Reason == v1alpha1.ReasonExcluded })
	thaw()
	c.awaitStep(v1alpha1.StepIdle)
	c.free()
}

// A person holds the node back: it does not begin, and what has begun finishes.
func TestHoldIsAskedLive(t *testing.T) {
	c := newCluster(t, "agent-hold")
	c.pod("default", "web-"+c.node, replicated)
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"=")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("it says so", func(s told) bool { return s.Reason == v1alpha1.ReasonOnHold })
	if status.Step != v1alpha1.StepLocking || status.Slot != "" {
		t.Errorf("status %+v", status)
	}
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"-")
	c.awaitStep(v1alpha1.StepDraining)
	c.kubectl("label", "node", c.node, v1alpha1.HoldLabel+"=")
	c.kubelet()
	c.awaitStep(v1alpha1.StepIdle)
	c.free()
}

// A node that has to stay Ready keeps its slot for as long, also where its agent
// dies meanwhile.
func TestObserving(t *testing.T) {
	c := newCluster(t, "agent-observed")
	c.kubelet()
	c.order(v1alpha1.ReleaseNode, func(spec *v1alpha1.NodeUpgradeSpec) { spec.MinReadySeconds = ptr.To[int32](2) })
	c.run()
	status := c.await("it says until when", func(s told) bool {
		return s.Step == v1alpha1.StepObserving && s.Reason == v1alpha1.ReasonObserving && s.StepEndTime != nil
	})
	if status.Slot != "slot-0" {
		t.Errorf("status %+v", status)
	}
	c.kill()
	c.run()
	status = c.awaitStep(v1alpha1.StepIdle)
	for _, step := range status.Steps {
		if took := step.EndTime.Sub(step.StartTime.Time); step.Step == v1alpha1.StepObserving && took < 2*time.Second {
			t.Errorf("observed for %s", took)
		}
	}
	c.free()
}

// What the coordinator writes into the status stays, and what is over is forgotten.
func TestStatusIsShared(t *testing.T) {
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
	c.order(v1alpha1.ReleaseNone, func(spec *v1alpha1.NodeUpgradeSpec) { *spec = v1alpha1.NodeUpgradeSpec{} })
	status := c.await("the upgrade is over", func(s told) bool { return s.Reason == v1alpha1.ReasonNoUpgrade })
	if reason, message := status.Hold(); reason != v1alpha1.ReasonWindowClosed || message != "closed" || !status.HoldEndTime.Equal(&until) {
		t.Errorf("the coordinator's words: %s: %s until %v", reason, message, status.HoldEndTime)
	}
	want := v1alpha1.NodeVersions{Kubelet: "v1.34.4", Kubeadm: "v1.34.4", NextBoot: "v1.34.4"}
	if status.Upgrade != nil || len(status.Steps) > 0 || status.Retry != (v1alpha1.Retry{}) || status.Method != "" || status.Versions != want {
		t.Errorf("status %+v", status)
	}
	if !c.answered() {
		t.Error("the order is not answered")
	}
}
