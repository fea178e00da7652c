package coordinator_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestUnreservedMarkIsIgnored checks a kubelet that marks its Node with a slot which was
// never reserved for it: the node gets no slot, the others are upgraded, and the reason of
// its hold names the mark. A slot that lost its label gets it again.
func TestUnreservedMarkIsIgnored(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w9")
	c.setMark("w9", "slot-0")
	c.startCoordinator("one")
	w9 := c.manualAgent("w9")
	w9.status.Versions.Staged = "v1.34.4"
	w9.report(t.Context(), v1alpha1.StepWaiting)
	c.eventually(c.slotHeldBy("slot-0", ""))
	c.eventually(c.slotHeldBy("slot-1", ""))
	unlabel := []byte(`{"metadata":{"labels":null}}`)
	_, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Patch(t.Context(), "slot-1", types.MergePatchType, unlabel, metav1.PatchOptions{})
	c.must(err)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.eventually(c.upgraded("cp1"))
	c.eventually(c.upgraded("w1"))
	c.eventually(func() string {
		if reason, message := c.nodeUpgrade("w9").Status.Hold(); reason != v1alpha1.ReasonUnknownMark {
			return fmt.Sprintf("w9 is told %s: %s", reason, message)
		}
		return ""
	})
	c.eventually(func() string {
		lease, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-1", metav1.GetOptions{})
		c.must(err)
		if lease.Labels[v1alpha1.SlotLabel] != "true" {
			return fmt.Sprintf("slot-1 has the labels %v", lease.Labels)
		}
		return ""
	})
	c.setMark("w9", "")
	c.startAgent("w9")
	c.eventually(c.succeeded("v1.34.4"))
	c.checkNoWrites()
}

// setMark annotates a Node, as its kubelet may.
func (c *cluster) setMark(node, slot string) {
	c.Helper()
	value := "null"
	if slot != "" {
		value = fmt.Sprintf("%q", slot)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.SlotAnnotation, value)
	_, err := c.kube.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
}
