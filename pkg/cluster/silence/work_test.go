package silence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

var w1 = fleet.Owner{Node: "w1", UID: "u1"}

// TestAtWork checks which nodes are at work, and for how long their alerts may be silenced in all.
func TestAtWork(t *testing.T) {
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		what   string
		change func(s *fleet.Snapshot, u *v1alpha1.NodeUpgrade)
		bound  time.Duration // zero: it is not at work
	}{
		{"it is drained", func(*fleet.Snapshot, *v1alpha1.NodeUpgrade) {}, 25 * time.Minute},
		{"it reboots", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepRebooting }, 25 * time.Minute},
		{"nobody knows how long it takes", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Spec.ExpectedSeconds = nil }, time.Hour},
		{"it waits", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepWaiting }, 0},
		{"it failed", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepFailed }, 0},
		{"the guard took it back", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepRolledBack }, 0},
		{"it only says so, and has no slot", func(s *fleet.Snapshot, _ *v1alpha1.NodeUpgrade) { s.Slots[0].Holder = fleet.Owner{} }, 0},
		{"another node of that name has the slot", func(s *fleet.Snapshot, _ *v1alpha1.NodeUpgrade) { s.Slots[0].Holder.UID = "u0" }, 0},
		{"it is abandoned", func(_ *fleet.Snapshot, u *v1alpha1.NodeUpgrade) { u.Abandoned = &v1alpha1.Abandoned{} }, 0},
	} {
		t.Run(row.what, func(t *testing.T) {
			u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
			u.Spec.ExpectedSeconds = ptr.To[int32](600)
			u.Status.Step = v1alpha1.StepDraining
			u.Status.Steps = []v1alpha1.StepTime{
				{Step: v1alpha1.StepStaging, StartTime: metav1.NewMicroTime(began.Add(-time.Hour))},
				{Step: v1alpha1.StepLocking, StartTime: metav1.NewMicroTime(began)}, {Step: v1alpha1.StepDraining, StartTime: metav1.NewMicroTime(began.Add(time.Minute))},
			}
			s := fleet.Snapshot{Nodes: []fleet.Node{{Name: "w1", UID: "u1"}, {Name: "w2", UID: "u2"}}, Slots: []fleet.Slot{{Name: "slot-0", Holder: w1}}}
			row.change(&s, &u)
			s.NodeUpgrades = []v1alpha1.NodeUpgrade{u}
			work := silence.AtWork(s)
			switch {
			case row.bound == 0 && len(work) > 0:
				t.Errorf("at work: %+v", work)
			case row.bound > 0 && (len(work) != 1 || work[0] != silence.Work{Owner: w1, Began: began, Bound: row.bound}):
				t.Errorf("at work: %+v, want w1 for %s", work, row.bound)
			}
		})
	}
}
