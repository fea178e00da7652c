package coordinator

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestReadyConditions checks what `kubectl wait` waits for: a policy is Ready once it is valid and its source was read, a
// schedule once it is valid, and Open while a window is.
func TestReadyConditions(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	valid := v1alpha1.UpgradePolicySpec{Source: v1alpha1.ImageSource{URL: "https://example.com/x/"}}
	invalid := v1alpha1.UpgradePolicySpec{Source: v1alpha1.ImageSource{URL: "https://example.com/x/", Keyring: "no key"}}
	unread := clusterstate.Snapshot{Source: clusterstate.Source{Problem: clusterstate.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: "no route"}}}
	policy := func(spec v1alpha1.UpgradePolicySpec, s clusterstate.Snapshot) []metav1.Condition {
		return observePolicy(&v1alpha1.UpgradePolicy{Spec: spec}, s, "", noon).Status.Conditions
	}
	window := v1alpha1.MaintenanceWindow{Period: v1alpha1.Period{Name: "w", StartTime: metav1.NewTime(noon.Add(-time.Hour)), EndTime: metav1.NewTime(noon.Add(time.Hour))}}
	schedule := func(now time.Time, over error) []metav1.Condition {
		status, _ := scheduleStatus(&v1alpha1.MaintenanceSchedule{Spec: v1alpha1.MaintenanceScheduleSpec{TimeZone: "UTC", MaintenanceWindows: []v1alpha1.MaintenanceWindow{window}}}, over, now)
		return status.Conditions
	}
	for _, row := range []struct {
		name       string
		conditions []metav1.Condition
		kind, want string
	}{
		{"a policy", policy(valid, clusterstate.Snapshot{}), v1alpha1.ConditionReady, "True Read"},
		{"a policy whose source is away", policy(valid, unread), v1alpha1.ConditionReady, "False SourceUnavailable no route"},
		{"an invalid policy whose source is away", policy(invalid, unread), v1alpha1.ConditionReady, "False SourceInvalid"},
		{"a schedule", schedule(noon, nil), v1alpha1.ConditionReady, "True Understood"},
		{"a schedule in its window", schedule(noon, nil), v1alpha1.ConditionOpen, "True Open"},
		{"a schedule after its window", schedule(noon.Add(2*time.Hour), nil), v1alpha1.ConditionOpen, "False Closed"},
		{"one schedule too many", schedule(noon, errors.New("too many")), v1alpha1.ConditionReady, "False ScheduleInvalid"},
		{"one schedule too many", schedule(noon, errors.New("too many")), v1alpha1.ConditionOpen, "False Closed"},
	} {
		got := "none"
		if c := meta.FindStatusCondition(row.conditions, row.kind); c != nil {
			got = string(c.Status) + " " + c.Reason
			if c.Reason == string(v1alpha1.ReasonSourceUnavailable) {
				got += " " + c.Message
			}
		}
		if got != row.want {
			t.Errorf("%s: condition %s is %s, want %s", row.name, row.kind, got, row.want)
		}
	}
}
