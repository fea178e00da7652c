package schedule_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// TestBetween checks that a calendar has the windows and exclusions between two instants, cut
// off at both.
func TestBetween(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	nightly := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}
	nightly.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: v1alpha1.Period{
		Name: "night", StartTime: metav1.Time{Time: at(1, 1)}, EndTime: metav1.Time{Time: at(1, 5)}, Recurrence: "FREQ=DAILY",
	}}}
	nightly.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{
		Period:       v1alpha1.Period{Name: "close", StartTime: metav1.Time{Time: at(3, 2)}, EndTime: metav1.Time{Time: at(3, 3)}},
		Comment:      "month end",
		UpgradeTypes: []v1alpha1.UpgradeType{v1alpha1.TypeMinor},
	}}
	databases := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "databases"}}
	databases.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "db"}}
	databases.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: v1alpha1.Period{
		Name: "all", StartTime: metav1.Time{Time: at(1, 0)}, EndTime: metav1.Time{Time: at(30, 0)},
	}}}
	m := schedule.NewMoment([]v1alpha1.MaintenanceSchedule{nightly, databases}, at(2, 3))
	get := func(labels map[string]string, kind v1alpha1.UpgradeType) *schedule.Calendar {
		t.Helper()
		c, err := m.Between(labels, kind, at(4, 2))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	minor := get(nil, v1alpha1.TypeMinor)
	want := [][2]time.Time{{at(2, 3), at(2, 5)}, {at(3, 1), at(3, 2)}, {at(3, 3), at(3, 5)}, {at(4, 1), at(4, 2)}}
	if len(minor.Openings) != len(want) {
		t.Fatalf("got %v, want %v", minor.Openings, want)
	}
	for i, o := range minor.Openings {
		if !o.Start.Equal(want[i][0]) || !o.End.Equal(want[i][1]) || o.Windows[0] != "nightly/night" {
			t.Errorf("opening %d is %v, want %v", i, o, want[i])
		}
	}
	if len(minor.Exclusions) != 1 || minor.Exclusions[0].Name != "nightly/close" || minor.Exclusions[0].Reason != "month end" || !minor.Exclusions[0].End.Equal(at(3, 3)) {
		t.Errorf("got the exclusions %v", minor.Exclusions)
	}
	if patch := get(nil, v1alpha1.TypePatch); len(patch.Exclusions) != 0 || len(patch.Openings) != 3 {
		t.Errorf("an exclusion of minors counts for a patch: %v", patch)
	}
	db := get(map[string]string{"pool": "db"}, v1alpha1.TypeMinor)
	if len(db.Openings) != 0 || len(db.Exclusions) != 2 || !db.Exclusions[0].Start.Equal(at(2, 3)) || !db.Exclusions[0].End.Equal(at(4, 2)) {
		t.Errorf("the databases have %v", db)
	}
	if get(map[string]string{"other": "label"}, v1alpha1.TypeMinor) != minor {
		t.Error("nodes to which the same schedules apply do not share a calendar")
	}
	nightly.Spec.TimeZone = "Mars"
	if c, err := schedule.NewMoment([]v1alpha1.MaintenanceSchedule{nightly}, at(2, 3)).Between(nil, "", at(4, 0)); err == nil || len(c.Openings) > 0 {
		t.Errorf("an invalid schedule opens %v, error %v", c, err)
	}
}
