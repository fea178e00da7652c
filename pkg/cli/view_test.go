package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The upgrade that is shown is the coordinator's choice, and not the oldest: a
// Reboot waits for a patch that came after it.
func TestActiveIsTheCoordinatorsChoice(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	one := func(name string, after time.Duration, triggered bool, reason v1alpha1.Reason) v1alpha1.ClusterUpgrade {
		u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at.Add(after))}}
		if triggered {
			u.Status.TriggerTime = &at
		}
		u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(reason)}}
		return u
	}
	for name, upgrades := range map[string][]v1alpha1.ClusterUpgrade{
		"a Reboot gives way":             {one("other", 0, true, v1alpha1.ReasonQueued), one("active", time.Hour, true, v1alpha1.ReasonReleased)},
		"a patch that is held back":      {one("other", 0, true, v1alpha1.ReasonQueued), one("active", time.Hour, true, v1alpha1.ReasonWindowClosed)},
		"the older one has not begun":    {one("other", 0, false, v1alpha1.ReasonQueued), one("active", time.Hour, true, v1alpha1.ReasonReleased)},
		"one that people hold back":      {one("other", 0, true, v1alpha1.ReasonNotStarted), one("active", time.Hour, true, v1alpha1.ReasonReleased)},
		"one that is not approved":       {one("other", 0, false, v1alpha1.ReasonApprovalRequired), one("active", time.Hour, false, v1alpha1.ReasonNotOffered)},
		"nothing was triggered, the old": {one("active", 0, false, v1alpha1.ReasonNotOffered), one("other", time.Hour, false, v1alpha1.ReasonQueued)},
	} {
		if got := active(upgrades)[0].Name; got != "active" {
			t.Errorf("%s: %s is shown", name, got)
		}
	}
}
