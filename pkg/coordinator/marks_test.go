package coordinator_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A kubelet marks its own Node with a slot that was never reserved for it. It gets
// none, the others go, and its own reason names the mark. A slot whose label is lost
// meanwhile gets it back.
func TestAMarkThatWasNotAskedFor(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w9")
	c.annotate("w9", "slot-0")
	c.coordinate("one")
	w9 := c.byHand("w9")
	w9.status.Versions.Staged = "v1.34.4"
	w9.say(t.Context(), v1alpha1.StepWaiting)
	c.eventually(c.holder("slot-0", ""))
	unlabel := []byte(`{"metadata":{"labels":null}}`)
	_, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Patch(t.Context(), "slot-1", types.MergePatchType, unlabel, metav1.PatchOptions{})
	c.must(err)
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.agent("cp1")
	c.agent("w1")
	c.eventually(c.reached("cp1"))
	c.eventually(c.reached("w1"))
	c.eventually(func() string {
		if reason, message := c.word("w9").Status.Hold(); reason != v1alpha1.ReasonUnknownMark {
			return fmt.Sprintf("w9 is told %s: %s", reason, message)
		}
		return ""
	})
	c.eventually(func() string {
		lease, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-1", metav1.GetOptions{})
		c.must(err)
		if lease.Labels[v1alpha1.SlotLabel] != "true" {
			return fmt.Sprintf("slot-1 is labelled %v", lease.Labels)
		}
		return ""
	})
	c.annotate("w9", "")
	c.agent("w9")
	c.eventually(c.finished("v1.34.4"))
	c.quiet()
}

// annotate is what a kubelet may do with its own Node.
func (c *cluster) annotate(node, slot string) {
	c.Helper()
	value := "null"
	if slot != "" {
		value = fmt.Sprintf("%q", slot)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, v1alpha1.SlotAnnotation, value)
	_, err := c.kube.CoreV1().Nodes().Patch(c.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
}
