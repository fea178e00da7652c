package machine

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRolledBackNodeServesAgain checks that the timeline has when a node that was rolled back serves again, although it
// stays in its step: not before it is uncordoned, and only once.
func TestRolledBackNodeServesAgain(t *testing.T) {
	s, o := atLastCheck(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	o.Spec.Type, o.Spec.Version = v1alpha1.TypePatch, newVersion
	s = s.enter(v1alpha1.StepRolledBack, o)
	ended := func() time.Time { return s.Steps[len(s.Steps)-1].FinishedAt }
	step := func(after time.Duration) Action {
		o.Now = o.Now.Add(after)
		next, action := Next(s, o)
		s = next
		return action
	}
	if action := step(time.Minute); action.Do != DoUncordon || !ended().IsZero() {
		t.Errorf("Ready and cordoned: got %s, served again %s; want %s and not yet", action.Do, ended(), DoUncordon)
	}
	o.Node.OurCordon, o.Node.SlotMark, o.Node.Unschedulable = false, "", false
	step(time.Second)
	uncordoned := o.Now
	step(time.Hour)
	if s.Step != v1alpha1.StepRolledBack || !ended().Equal(uncordoned) {
		t.Errorf("an hour after it was uncordoned: got %s, served again %s; want %s, %s", s.Step, ended(), v1alpha1.StepRolledBack, uncordoned)
	}
}
