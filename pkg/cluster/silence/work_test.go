package silence_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

var w1 = clusterstate.Owner{Node: "w1", UID: "u1"}

// TestAtWork checks which nodes are at work, and for how long their alerts may be silenced in all.
func TestAtWork(t *testing.T) {
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		what   string
		change func(s *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade)
		bound  time.Duration // zero: it is not at work
	}{
		{"it is drained", func(*clusterstate.Snapshot, *v1alpha1.NodeUpgrade) {}, 25 * time.Minute},
		{"it reboots", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepRebooting }, 25 * time.Minute},
		{"nobody knows how long it takes", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Spec.ExpectedSeconds = nil }, time.Hour},
		{"it waits", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepWaiting }, 0},
		{"it failed", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepFailed }, 0},
		{"the guard took it back", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Status.Step = v1alpha1.StepRolledBack }, 0},
		{"it only says so, and has no slot", func(s *clusterstate.Snapshot, _ *v1alpha1.NodeUpgrade) { s.Slots[0].Holder = clusterstate.Owner{} }, 0},
		{"another node of that name has the slot", func(s *clusterstate.Snapshot, _ *v1alpha1.NodeUpgrade) { s.Slots[0].Holder.UID = "u0" }, 0},
		{"it is abandoned", func(_ *clusterstate.Snapshot, u *v1alpha1.NodeUpgrade) { u.Abandoned = &v1alpha1.Abandoned{} }, 0},
	} {
		t.Run(row.what, func(t *testing.T) {
			u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}
			u.Spec.ExpectedSeconds = ptr.To[int32](600)
			u.Status.Step = v1alpha1.StepDraining
			u.Status.Steps = []v1alpha1.StepTime{
				{Step: v1alpha1.StepStaging, StartTime: metav1.NewMicroTime(began.Add(-time.Hour))},
				{Step: v1alpha1.StepLocking, StartTime: metav1.NewMicroTime(began)}, {Step: v1alpha1.StepDraining, StartTime: metav1.NewMicroTime(began.Add(time.Minute))},
			}
			s := clusterstate.Snapshot{Nodes: []clusterstate.Node{{Name: "w1", UID: "u1"}, {Name: "w2", UID: "u2"}}, Slots: []clusterstate.Slot{{Name: "slot-0", Holder: w1}}}
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
