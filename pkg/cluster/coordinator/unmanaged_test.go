package coordinator_test

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestUnmanagedNodes checks that the NodeUpgrade of a node which the policy does not select
// says that it is not managed or, without an agent, is deleted, that upgrades end without it, and that it is upgraded once it is selected.
func TestUnmanagedNodes(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startCoordinator("one")
	for _, name := range []string{"cp1", "w1", "w2"} {
		c.startAgent(name)
	}
	c.eventually(c.noNodeHasOrder)
	patch := []byte(`{"metadata":{"labels":{"managed-by":"others"}}}`)
	_, err := c.kube.CoreV1().Nodes().Patch(t.Context(), "w2", types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: "managed-by", Operator: "DoesNotExist"}}}
	})
	c.eventually(func() string {
		w2, err := c.ours.NodeUpgrades.Get(t.Context(), "w2", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "" // its agent has not reported facts
		}
		if err != nil {
			return err.Error()
		}
		if reason, _ := w2.Status.Hold(); w2.Spec.Managed || reason != v1alpha1.ReasonUnmanaged {
			return fmt.Sprintf("w2 is not selected: managed %t, reason %q", w2.Spec.Managed, reason)
		}
		return ""
	})
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.succeeded("v1.34.4"))
	if nodes := c.upgrade("v1.34.4").Status.Nodes; nodes.Total != 2 || slices.Contains(c.outages.nodes(), "w2") {
		t.Errorf("the upgrade counts %+v and %v were out of service, want 2 nodes without w2", nodes, c.outages.nodes())
	}
	c.checkNoWrites()
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.NodeSelector = nil })
	c.eventually(c.upgraded("w2"))
}

// TestWorkingNodeKeepsItsNodeUpgrade checks that a node which has begun finishes, though the\n// policy no longer selects it.
func TestWorkingNodeKeepsItsNodeUpgrade(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.4")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startAgent("cp1")
	w1 := c.manualAgent("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.report(t.Context(), v1alpha1.StepWaiting)
	c.startCoordinator("one")
	c.eventually(func() string {
		name, err := w1.take(t.Context())
		w1.status.Slot = name
		return describeError("w1 waits for a slot", err)
	})
	w1.outages.begin("w1")
	w1.status.ObservedGeneration = c.nodeUpgrade("w1").Generation
	w1.report(t.Context(), v1alpha1.StepRebooting)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"node-role.kubernetes.io/control-plane": ""}}
	})
	c.eventually(c.succeeded("v1.34.4"))
	if order := c.nodeUpgrade("w1").Spec; order.Release != v1alpha1.ReleaseNode || order.Version != "v1.34.4" {
		t.Errorf("the order of w1, which reboots, is %+v, want it unchanged", order)
	}
	w1.report(t.Context(), v1alpha1.StepUnlocking) // an agent writes this step before it frees its slot
	c.must(w1.slots.Free(t.Context(), w1.status.Slot, w1.me))
	w1.status.Slot = ""
	w1.report(t.Context(), v1alpha1.StepWaiting)
	c.eventually(func() string {
		w1, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "" // no agent has reported facts
		}
		if err != nil || w1.Spec.Managed || w1.Spec.Upgrade != nil {
			return fmt.Sprintf("w1 is back in service and not selected, and its spec is %+v (%v)", w1.Spec, err)
		}
		return ""
	})
	c.checkNoWrites()
}
