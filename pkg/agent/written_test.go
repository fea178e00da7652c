package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// A status that another writer has put back is written again, once the watch has
// had time to show our own.
func TestOverwritten(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	w := written{at: at}
	w.status.Step = v1alpha1.StepIdle
	for _, row := range []struct {
		shown v1alpha1.Step
		after time.Duration
		want  bool
	}{
		{v1alpha1.StepIdle, time.Hour, false},
		{v1alpha1.StepUnlocking, time.Second, false},
		{v1alpha1.StepUnlocking, overwriteAfter, true},
	} {
		nu := &v1alpha1.NodeUpgrade{}
		nu.Status.Step = row.shown
		if got := w.overwritten(nu, at.Add(row.after)); got != row.want {
			t.Errorf("%s %s after: %v, want %v", row.shown, row.after, got, row.want)
		}
	}
}

// What another writer put back may have the same step: anything of the agent's part
// counts, and nothing of the coordinator's.
func TestOverwrittenIsAboutTheAgentsPart(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	stored := v1alpha1.NodeUpgradeStatus{
		Step: v1alpha1.StepUnlocking, Slot: "slot-0",
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Message: "a"}, {Type: v1alpha1.ConditionReconciling}},
	}
	w := written{at: at, status: stored}
	for name, row := range map[string]struct {
		change func(*v1alpha1.NodeUpgradeStatus)
		want   bool
	}{
		"nothing":           {func(*v1alpha1.NodeUpgradeStatus) {}, false},
		"the slot":          {func(s *v1alpha1.NodeUpgradeStatus) { s.Slot = "" }, true},
		"a message":         {func(s *v1alpha1.NodeUpgradeStatus) { s.Conditions[0].Message = "b" }, true},
		"the order of them": {func(s *v1alpha1.NodeUpgradeStatus) { slices.Reverse(s.Conditions) }, false},
		"the coordinator's": {func(s *v1alpha1.NodeUpgradeStatus) {
			s.HoldEndTime = timeOf(at)
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionAdmitted})
		}, false},
	} {
		nu := &v1alpha1.NodeUpgrade{Status: *stored.DeepCopy()}
		row.change(&nu.Status)
		if got := w.overwritten(nu, at.Add(time.Minute)); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

// idle is an agent by hand whose watch shows the NodeUpgrade as it is now, and what it
// is about to write.
func (c *cluster) idle() (*Agent, machine.Observation) {
	c.t.Helper()
	a := c.byHand()
	a.state = machine.State{Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonNoUpgrade, Message: "no upgrade is requested"}
	c.shown(a)
	return a, machine.Observation{Now: time.Now().Truncate(time.Second)}
}

// shown has the agent's watch catch up.
func (c *cluster) shown(a *Agent) {
	c.t.Helper()
	nu, err := c.ours.NodeUpgrades.Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.nodeUpgrades.GetStore().Replace([]any{nu}, ""))
}

// A write of this very agent that it gave up, and that the API server carried out
// later, takes back what it wrote since: it is written again.
func TestLateWriteIsPutRight(t *testing.T) {
	c := newCluster(t, "agent-late-write")
	c.order(v1alpha1.ReleaseNone)
	a, o := c.idle()
	c.must(a.persist(t.Context(), o, ""))
	nu, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	late := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}, Status: *nu.Status.DeepCopy()}
	late.Status.Slot = "slot-0" // the step is the same
	_, err = c.ours.NodeUpgrades.Apply(t.Context(), late, fieldManager, "status")
	c.must(err)
	c.shown(a)
	c.must(a.persist(t.Context(), o, ""))
	if c.status().Slot == "" {
		t.Error("the watch had no time to show what was written, and it was written again")
	}
	o.Now = o.Now.Add(overwriteAfter)
	c.must(a.persist(t.Context(), o, ""))
	if slot := c.status().Slot; slot != "" {
		t.Errorf("the slot is %q, and is not put right", slot)
	}
	c.shown(a)
	before := c.version()
	o.Now = o.Now.Add(time.Hour)
	c.must(a.persist(t.Context(), o, ""))
	if c.version() != before {
		t.Error("what stands as it was written is written again")
	}
}

func (c *cluster) version() string {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), c.node, metav1.GetOptions{})
	c.must(err)
	return nu.ResourceVersion
}

// The NodeUpgrade was deleted and made anew, and the watch shows the one of before: what
// was written there counts for nothing, as it answers another order.
func TestWrittenToAnotherObject(t *testing.T) {
	c := newCluster(t, "agent-another-object")
	c.order(v1alpha1.ReleaseNone)
	a, o := c.idle()
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.order(v1alpha1.ReleaseNone)
	a.generation = 7
	if err := a.persist(t.Context(), o, ""); err == nil {
		t.Error("it counts as written")
	}
	c.shown(a)
	a.generation = 1
	c.must(a.persist(t.Context(), o, ""))
	if status := c.status(); status.Step != v1alpha1.StepIdle || status.ObservedGeneration != 1 {
		t.Errorf("with a watch that caught up: %+v", status)
	}
}
