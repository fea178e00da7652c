//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

const (
	// spare is how much longer the first window is than a canary took.
	spare = 30 * time.Second
	// late is how long before the window's end w3 can be drained: long enough for its last
	// check, and not for its settle time.
	late = 20 * time.Second
	// pause is the time between the two windows.
	pause = 40 * time.Second
)

// windowEnds replaces the long window with two, ends the freeze, and waits for the end of the
// first window. w3 and w4 cannot be drained; w3 can shortly before that end.
func (r *rollout) windowEnds(t *testing.T) {
	end := time.Now().Add(r.longest(t, "w1", "w2") + spare).Truncate(time.Second)
	r.next = end.Add(pause)
	r.apply(t, scenario.Windows(scenario.Span{Start: time.Now().Add(-time.Minute), End: end}, scenario.Span{Start: r.next, End: r.next.Add(time.Hour)}))
	t.Log(r.must(t)(r.Upgrade(r.ctx, "unfreeze")))

	r.awaitStatus(t, v1alpha1.ReasonNotItsTurn, "at most 2 at once", "w5")
	r.awaitStatus(t, v1alpha1.ReasonDrainBlocked, "hold-w", "w3", "w4")
	time.Sleep(time.Until(end.Add(-late)))
	if err := r.LetGo(r.ctx, "w3"); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, late, "w3 passes its last check in time", func() error { return r.pastLastCheck("w3") })
	r.checkUntil(t, r.awaitStatus(t, v1alpha1.ReasonInsufficientTime, "longer than is left.* long enough begins", "w5")["w5"])

	time.Sleep(time.Until(end))
	closed := r.awaitStatus(t, v1alpha1.ReasonWindowClosed, "", "w4", "w5")
	r.checkUntil(t, closed["w4"])
	r.checkUntil(t, closed["w5"])
	r.checkInService(t, "w4")
	r.checkInService(t, "w5")
	for _, node := range r.plan(t, "w4", "w5") {
		if node.Start.Before(r.next) {
			t.Errorf("kubectl upgrade plan predicts %s for %s, before the next window", node.Name, node.Start)
		}
	}
	if err := r.LetGo(r.ctx, "w4"); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, 5*time.Minute, "w3 finishes", func() error { return r.done("w3") })
	r.checkAcross(t, "w3", end)
}

// checkUntil checks that a node waits for the next window.
func (r *rollout) checkUntil(t *testing.T, node nodeStatus) {
	t.Helper()
	if node.Until == nil || !node.Until.Equal(r.next) {
		t.Errorf("%s waits until %v, want %s", node.Name, node.Until, r.next.UTC())
	}
}

// checkInService checks that a node runs the old version, is schedulable, and has neither a
// mark nor a slot.
func (r *rollout) checkInService(t *testing.T, name string) {
	t.Helper()
	node, err := r.kube.CoreV1().Nodes().Get(r.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != from {
		t.Errorf("%s: got unschedulable %t and kubelet %s, want false and "+from, name, node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
	}
	for mark := range node.Annotations {
		if strings.HasPrefix(mark, v1alpha1.Group+"/") {
			t.Errorf("%s: it still has the annotation %s", name, mark)
		}
	}
	slots, err := r.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(r.ctx, metav1.ListOptions{LabelSelector: v1alpha1.SlotLabel})
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range slots.Items {
		for _, owner := range []string{ptr.Deref(slot.Spec.HolderIdentity, ""), slot.Annotations[v1alpha1.ReservedForAnnotation]} {
			if strings.HasPrefix(owner, name+"/") {
				t.Errorf("slot %s is still held by %s", slot.Name, name)
			}
		}
	}
}
