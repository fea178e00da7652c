package view

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestFrozenScheduleSaysWhy checks that the screen says why a freeze holds, and who made it.
func TestFrozenScheduleSaysWhy(t *testing.T) {
	now := time.Date(2026, 12, 24, 18, 0, 0, 0, time.UTC)
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "christmas", Annotations: map[string]string{v1alpha1.RequestedByAnnotation: "ann"}}}
	s.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "db"}}
	s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{
		Period:  v1alpha1.Period{Name: "freeze", StartTime: metav1.NewTime(now.Add(-time.Hour)), EndTime: metav1.NewTime(now.Add(time.Hour))},
		Comment: "office closed", UpgradeTypes: []v1alpha1.UpgradeType{v1alpha1.TypeMinor},
	}}
	for state, want := range map[string]string{"Excluded": "office closed (requested by ann)", "Closed": ""} {
		s.Status.State = state
		got := NewStatus(clusterstate.Snapshot{Schedules: []v1alpha1.MaintenanceSchedule{s}}, now)
		if message := got.Schedules[0].Message; message != want {
			t.Errorf("%s: got %q, want %q", state, message, want)
		}
	}
	if s.Spec.NodeSelector == nil {
		t.Error("the schedule was changed")
	}
}
