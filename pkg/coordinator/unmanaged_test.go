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

// A node that the policy does not select has no NodeUpgrade, and loses the one that
// it had. Upgrades end without it, and it gets there when the policy selects it.
func TestUnmanagedNodes(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.coordinate("one")
	for _, name := range []string{"cp1", "w1", "w2"} {
		c.agent(name)
	}
	c.eventually(c.noNodeIsAsked)
	patch := []byte(`{"metadata":{"labels":{"managed-by":"others"}}}`)
	_, err := c.kube.CoreV1().Nodes().Patch(t.Context(), "w2", types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: "managed-by", Operator: "DoesNotExist"}}}
	})
	c.eventually(func() string {
		if _, err := c.ours.NodeUpgrades.Get(t.Context(), "w2", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("w2 is not managed, and has a NodeUpgrade: %v", err)
		}
		return ""
	})
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(c.finished("v1.34.4"))
	if nodes := c.upgrade("v1.34.4").Status.Nodes; nodes.Total != 2 || slices.Contains(c.tally.order, "w2") {
		t.Errorf("the upgrade counts %+v; out of service were %v", nodes, c.tally.order)
	}
	c.quiet()
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.NodeSelector = nil })
	c.eventually(c.reached("w2"))
}

// A node that has begun finishes, though the policy selects it no more.
func TestABusyNodeKeepsItsNodeUpgrade(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.4")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.agent("cp1")
	w1 := c.byHand("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.say(t.Context(), v1alpha1.StepWaiting)
	c.coordinate("one")
	c.eventually(func() string {
		name, err := w1.slots.Take(t.Context(), w1.me)
		w1.status.Slot = name
		return problem("w1 waits for a slot", err)
	})
	w1.tally.leave("w1")
	w1.status.ObservedGeneration = c.word("w1").Generation
	w1.say(t.Context(), v1alpha1.StepRebooting)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"node-role.kubernetes.io/control-plane": ""}}
	})
	c.eventually(c.finished("v1.34.4"))
	if order := c.word("w1").Spec; order.Release != v1alpha1.ReleaseNode || order.Version != "v1.34.4" {
		t.Errorf("the order of w1, which reboots, is now %+v", order)
	}
	w1.say(t.Context(), v1alpha1.StepUnlocking) // an agent writes that before it frees its slot
	c.must(w1.slots.Free(t.Context(), w1.me))
	w1.status.Slot = ""
	w1.say(t.Context(), v1alpha1.StepWaiting)
	c.eventually(func() string {
		if _, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("w1 is back in service, and has a NodeUpgrade: %v", err)
		}
		return ""
	})
	c.quiet()
}
