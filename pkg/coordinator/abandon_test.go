package coordinator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// A node hangs with its slot, and a person abandons it: the others get there
// without it. When its agent reports again it takes part again, by itself.
func TestAbandonedUntilItReportsAgain(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2", "w3")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	for _, name := range []string{"cp1", "w2", "w3"} {
		c.agent(name)
	}
	w1 := c.byHand("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.say(t.Context(), v1alpha1.StepWaiting)
	c.coordinate("one")
	taken := ""
	c.eventually(func() string {
		name, err := w1.slots.Take(t.Context(), w1.me)
		taken = name
		return problem("w1 waits for a slot", err)
	})
	w1.tally.leave("w1")
	w1.status.Slot = taken
	w1.status.ObservedGeneration = c.word("w1").Generation
	w1.say(t.Context(), v1alpha1.StepDraining)
	c.eventually(c.reached("w3"))
	c.eventually(c.holder(taken, w1.me.String()))

	c.abandon("w1", "its disk died")
	c.eventually(c.holder(taken, ""))
	c.eventually(c.finished("v1.34.4"))
	w1Now := c.word("w1")
	if reason, _ := w1Now.Status.Hold(); reason != v1alpha1.ReasonAbandoned || w1Now.Spec.Release.Granted() {
		t.Errorf("w1 is told %s, %s", w1Now.Spec.Release, reason)
	}
	if reason, _ := c.word("w2").Status.Hold(); reason == v1alpha1.ReasonAbandoned {
		t.Error("w2 is told that it was abandoned")
	}
	// What its agent wrote before it hung arrives late.
	w1.status.KubeadmLog = "late"
	w1.say(t.Context(), v1alpha1.StepDraining)
	time.Sleep(time.Second)
	if c.word("w1").Abandoned == nil {
		t.Fatal("a status of before was taken for a sign of life")
	}
	// It wakes, sees that it was abandoned, and is back in service.
	w1.tally.enter("w1")
	w1.status.Slot = ""
	w1.status.Step = v1alpha1.StepWaiting
	before := len(c.tally.order)
	c.agent("w1")
	c.eventually(c.reached("w1"))
	if again := c.tally.order[before:]; !slices.Equal(again, []string{"w1"}) {
		t.Errorf("after it came back %v went out of service, want w1 once, with a slot of its own", again)
	}
	if c.word("w1").Abandoned != nil {
		t.Error("the field abandoned is still there")
	}
	if c.tally.most > 2 {
		t.Errorf("%d nodes were down at once", c.tally.most)
	}
	c.events("w1", "Returned")
	c.quiet()
}

// byHand is an agent whose every step is the test's.
func (c *cluster) byHand(name string) *agent {
	c.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	word := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID,
	}}}}
	_, err = c.ours.NodeUpgrades.Apply(c.Context(), word, "coordinator", "")
	c.must(err)
	return &agent{cluster: c, me: fleet.Owner{Node: name, UID: string(node.UID)}, slots: slot.New(c.kube)}
}

func (c *cluster) word(name string) *v1alpha1.NodeUpgrade {
	c.Helper()
	word, err := c.ours.NodeUpgrades.Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	return word
}

// abandon is what `kubectl upgrade abandon` does.
func (c *cluster) abandon(name, reason string) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"abandoned":{"reason":%q}}`, reason)
	_, err := c.ours.NodeUpgrades.Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl-upgrade"})
	c.must(err)
}

func problem(what string, err error) string {
	if err != nil {
		return what + ": " + err.Error()
	}
	return ""
}
