package coordinator_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestEditedSlotIsMended edits the slot of a node that drains: holder and reservation are another node
// then, whose agent has not answered its last order. The Lease is mended. Once the first node is back in
// service, and the Lease is edited again while the other node answers that it waits, the slot is free again.
func TestEditedSlotIsMended(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.index.offer("v1.34.4")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startAgent("cp1")
	w1, w2 := c.manualAgent("w1"), c.manualAgent("w2")
	for _, a := range []*agent{w1, w2} {
		a.status.Versions.Staged = "v1.34.4"
		a.report(t.Context(), v1alpha1.StepWaiting)
	}
	c.startCoordinator("one")
	slot := c.takeSlot(w1)
	w1.outages.begin("w1")
	w1.status.ObservedGeneration = c.nodeUpgrade("w1").Generation
	w1.report(t.Context(), v1alpha1.StepDraining)
	c.setMark("w1", slot)
	edit := func() {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}},"spec":{"holderIdentity":%q}}`, v1alpha1.ReservedForAnnotation, w2.me, w2.me)
		_, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Patch(t.Context(), slot, types.MergePatchType, patch, metav1.PatchOptions{})
		c.must(err)
	}
	edit()
	c.eventually(c.slotHeldBy(slot, w1.me.String()))
	if release := c.nodeUpgrade("w1").Spec.Release; release != v1alpha1.ReleaseNode {
		t.Errorf("the release of w1 is %s", release)
	}
	w1.report(t.Context(), v1alpha1.StepUnlocking)
	c.setMark("w1", "")
	w1.outages.end("w1")
	c.must(w1.slots.Free(t.Context(), slot, w1.me))
	w1.status.Slot = ""
	_, err := c.ours.ClusterUpgrades.Patch(t.Context(), "v1.34.4", types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
	c.must(err)
	w1.report(t.Context(), v1alpha1.StepWaiting)
	c.eventually(func() string {
		if u := c.nodeUpgrade("w2"); u.Spec.Release.Granted() {
			return "w2 is released while the upgrade is suspended"
		}
		return ""
	})
	w2.status.ObservedGeneration = c.nodeUpgrade("w2").Generation
	w2.report(t.Context(), v1alpha1.StepWaiting)
	edit()
	c.eventually(c.slotHeldBy(slot, ""))
}
