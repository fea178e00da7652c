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

// TestOpenSaysWhyNot checks the message of a schedule's condition Open, which `kubectl get maintenanceschedules` shows.
func TestOpenSaysWhyNot(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	period := v1alpha1.Period{Name: "x", StartTime: metav1.NewTime(noon.Add(-time.Hour)), EndTime: metav1.NewTime(noon.Add(time.Hour))}
	frozen := &v1alpha1.MaintenanceSchedule{
		ObjectMeta: metav1.ObjectMeta{Name: "freeze", Annotations: map[string]string{v1alpha1.RequestedByAnnotation: "ops"}},
		Spec:       v1alpha1.MaintenanceScheduleSpec{TimeZone: "UTC", MaintenanceExclusions: []v1alpha1.MaintenanceExclusion{{Period: period, Comment: "Black Friday"}}},
	}
	for _, row := range []struct {
		name, want string
		over       error
		now        time.Time
	}{
		{"an exclusion holds", "Black Friday (requested by ops)", nil, noon},
		{"the exclusion is over", "", nil, noon.Add(2 * time.Hour)},
		{"one schedule too many", "too many; every window of every schedule is closed until this is fixed", errors.New("too many"), noon},
	} {
		status, _ := scheduleStatus(frozen, row.over, row.now)
		if got := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOpen).Message; got != row.want {
			t.Errorf("%s: the message is %q, want %q", row.name, got, row.want)
		}
	}
}
