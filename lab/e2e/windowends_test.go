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
	// spare is how much longer than a canary took the first window is.
	spare = 30 * time.Second
	// late is how long before its end w3 may leave: time enough for its last
	// check, and not for its settle time.
	late = 20 * time.Second
	// pause lies between the two windows.
	pause = 40 * time.Second
)

// windowEnds lifts the freeze. Two windows have taken the place of the long one
// meanwhile; w3 and w4 cannot be drained, until w3 can shortly before the first
// one ends. It ends by itself.
func (r *rollout) windowEnds(t *testing.T) {
	end := time.Now().Add(r.longest(t, "w1", "w2") + spare).Truncate(time.Second)
	r.next = end.Add(pause)
	r.apply(t, scenario.Windows(scenario.Span{Start: time.Now().Add(-time.Minute), End: end}, scenario.Span{Start: r.next, End: r.next.Add(time.Hour)}))
	t.Log(r.must(t)(r.Upgrade(r.ctx, "unfreeze")))

	r.says(t, v1alpha1.ReasonNotItsTurn, "at most 2 at once", "w5")
	r.says(t, v1alpha1.ReasonDrainBlocked, "hold-w", "w3", "w4")
	time.Sleep(time.Until(end.Add(-late)))
	if err := r.LetGo(r.ctx, "w3"); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, late, "w3 passes its last check in time", func() error { return r.past("w3") })
	r.until(t, r.says(t, v1alpha1.ReasonInsufficientTime, "longer than is left.* long enough begins", "w5")["w5"])

	time.Sleep(time.Until(end))
	closed := r.says(t, v1alpha1.ReasonWindowClosed, "", "w4", "w5")
	r.until(t, closed["w4"])
	r.until(t, closed["w5"])
	r.inService(t, "w4")
	r.inService(t, "w5")
	for _, node := range r.plan(t, "w4", "w5") {
		if node.Start.Before(r.next) {
			t.Errorf("kubectl upgrade plan expects %s to go %s, before the next window", node.Name, node.Start)
		}
	}
	if err := r.LetGo(r.ctx, "w4"); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, 5*time.Minute, "w3 finishes", func() error { return r.done("w3") })
	r.across(t, "w3", end)
}

// until wants the next window as the answer to how long a node waits.
func (r *rollout) until(t *testing.T, node nodeStatus) {
	t.Helper()
	if node.Until == nil || !node.Until.Equal(r.next) {
		t.Errorf("%s waits until %v, want %s", node.Name, node.Until, r.next.UTC())
	}
}

// inService wants a node that runs what it ran, takes pods, bears no mark of
// ours and holds no slot.
func (r *rollout) inService(t *testing.T, name string) {
	t.Helper()
	node, err := r.kube.CoreV1().Nodes().Get(r.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Spec.Unschedulable || node.Status.NodeInfo.KubeletVersion != from {
		t.Errorf("%s: unschedulable %t, kubelet %s", name, node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
	}
	for mark := range node.Annotations {
		if strings.HasPrefix(mark, v1alpha1.Group+"/") {
			t.Errorf("%s: the mark %s is left", name, mark)
		}
	}
	slots, err := r.kube.CoordinationV1().Leases(v1alpha1.Namespace).List(r.ctx, metav1.ListOptions{LabelSelector: v1alpha1.SlotLabel})
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range slots.Items {
		for _, owner := range []string{ptr.Deref(slot.Spec.HolderIdentity, ""), slot.Annotations[v1alpha1.ReservedForAnnotation]} {
			if strings.HasPrefix(owner, name+"/") {
				t.Errorf("%s is still %s's", slot.Name, name)
			}
		}
	}
}
