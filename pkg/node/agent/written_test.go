package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// TestOverwritten checks that a status which another client has overwritten counts as such
// once the watch has had time to show our own write.
func TestOverwritten(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	w := writtenStatus{at: at}
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
			t.Errorf("%s %s after the write: got %v, want %v", row.shown, row.after, got, row.want)
		}
	}
}

// TestOverwrittenComparesAgentsFields checks that a change of any of the agent's fields
// counts as overwritten, and none of the coordinator's.
func TestOverwrittenComparesAgentsFields(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 55, 0, 0, time.UTC)
	stored := v1alpha1.NodeUpgradeStatus{
		Step: v1alpha1.StepUnlocking, Slot: "slot-0",
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionUpToDate, Message: "a"}, {Type: v1alpha1.ConditionReconciling}},
	}
	w := writtenStatus{at: at, status: stored}
	for name, row := range map[string]struct {
		change func(*v1alpha1.NodeUpgradeStatus)
		want   bool
	}{
		"nothing":                 {func(*v1alpha1.NodeUpgradeStatus) {}, false},
		"the slot":                {func(s *v1alpha1.NodeUpgradeStatus) { s.Slot = "" }, true},
		"a message":               {func(s *v1alpha1.NodeUpgradeStatus) { s.Conditions[0].Message = "b" }, true},
		"the order of conditions": {func(s *v1alpha1.NodeUpgradeStatus) { slices.Reverse(s.Conditions) }, false},
		"the coordinator's": {func(s *v1alpha1.NodeUpgradeStatus) {
			s.HoldEndTime = timeOf(at)
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1alpha1.ConditionAdmitted})
		}, false},
	} {
		nu := &v1alpha1.NodeUpgrade{Status: *stored.DeepCopy()}
		row.change(&nu.Status)
		if got := w.overwritten(nu, at.Add(time.Minute)); got != row.want {
			t.Errorf("%s: got %v, want %v", name, got, row.want)
		}
	}
}

// idleAgent returns a manual agent whose watch shows the present NodeUpgrade, and its
// observation.
func (c *cluster) idleAgent() (*Agent, machine.Observation) {
	c.t.Helper()
	a := c.manualAgent()
	a.state = machine.State{Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonNoUpgrade, Message: "no upgrade is requested"}
	c.updateWatch(a)
	return a, machine.Observation{Now: time.Now().Truncate(time.Second)}
}

// updateWatch makes the agent's watch show the present NodeUpgrade.
func (c *cluster) updateWatch(a *Agent) {
	c.t.Helper()
	nu, err := c.ours.NodeUpgrades.Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	c.must(a.nodeUpgrades.GetStore().Replace([]any{nu}, ""))
}

// TestLateWriteIsOverwritten checks that the status is written again if the API server
// executes an earlier write of the agent late, which reverts what it has written since.
func TestLateWriteIsOverwritten(t *testing.T) {
	c := newCluster(t, "agent-late-write")
	c.order(v1alpha1.ReleaseNone)
	a, o := c.idleAgent()
	c.must(a.persist(t.Context(), o, "", false))
	nu, err := c.ours.NodeUpgrades.Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	late := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}, Status: *nu.Status.DeepCopy()}
	late.Status.Slot = "slot-0" // the step is the same
	_, err = c.ours.NodeUpgrades.Apply(t.Context(), late, fieldManager, "status")
	c.must(err)
	c.updateWatch(a)
	c.must(a.persist(t.Context(), o, "", false))
	if c.status().Slot == "" {
		t.Error("the status was written again before the watch had time to show it")
	}
	o.Now = o.Now.Add(overwriteAfter)
	c.must(a.persist(t.Context(), o, "", false))
	if slot := c.status().Slot; slot != "" {
		t.Errorf("the slot is still %q, want it overwritten", slot)
	}
	c.updateWatch(a)
	before := c.resourceVersion()
	o.Now = o.Now.Add(time.Hour)
	c.must(a.persist(t.Context(), o, "", false))
	if c.resourceVersion() != before {
		t.Error("a status that is as it was written was written again")
	}
}

func (c *cluster) resourceVersion() string {
	nu, err := c.ours.NodeUpgrades.Get(context.Background(), c.node, metav1.GetOptions{})
	c.must(err)
	return nu.ResourceVersion
}

// TestStatusIsWrittenAfterRecreation checks a NodeUpgrade that was deleted and created again:
// a status that was decided on the deleted one does not count as written.
func TestStatusIsWrittenAfterRecreation(t *testing.T) {
	c := newCluster(t, "agent-another-object")
	c.order(v1alpha1.ReleaseNone)
	a, o := c.idleAgent()
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.order(v1alpha1.ReleaseNone)
	a.generation = 7
	if err := a.persist(t.Context(), o, "", false); err == nil {
		t.Error("the status of the deleted NodeUpgrade counts as written")
	}
	c.updateWatch(a)
	a.generation = 1
	c.must(a.persist(t.Context(), o, "", false))
	if status := c.status(); status.Step != v1alpha1.StepIdle || status.ObservedGeneration != 1 {
		t.Errorf("with a current watch the status is %+v", status)
	}
}
