package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The upgrade that is shown is the coordinator's choice, and not the oldest: a
// Reboot waits for a patch that came after it, and what cannot begin lets others go.
func TestActiveIsTheCoordinatorsChoice(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	one := func(name string, after time.Duration, triggered bool, reason v1alpha1.Reason) v1alpha1.ClusterUpgrade {
		u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(at.Add(after))}}
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
		"one whose nodes may never go":   {one("other", 0, true, v1alpha1.ReasonWindowClosed), one("active", time.Hour, true, v1alpha1.ReasonWindowClosed)},
		"nothing was triggered, the old": {one("active", 0, false, v1alpha1.ReasonNotOffered), one("other", time.Hour, false, v1alpha1.ReasonQueued)},
	} {
		l := line{upgrades: upgrades}
		if name == "one whose nodes may never go" {
			l.nodes = []v1alpha1.NodeUpgrade{{Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &v1alpha1.UpgradeReference{Name: "active", UID: "active"}}}}
		}
		if got := l.open()[0].Name; got != "active" {
			t.Errorf("%s: %s is shown", name, got)
		}
	}
}

// An upgrade that has begun holds others up, even while it is stopped.
func TestStepsAside(t *testing.T) {
	now := metav1.Now()
	for _, test := range []struct {
		reason           v1alpha1.Reason
		triggered, begun bool
		want             bool
	}{
		{v1alpha1.ReasonNotStarted, true, false, true},
		{v1alpha1.ReasonSuspended, true, false, true},
		{v1alpha1.ReasonSuspended, true, true, false},
		{v1alpha1.ReasonApprovalRequired, false, false, true},
		{v1alpha1.ReasonNotOffered, false, false, true},
		{v1alpha1.ReasonQueued, false, false, false},
		{"", false, false, false},
		{v1alpha1.ReasonWindowClosed, true, false, false},
		{v1alpha1.ReasonReleased, true, true, false},
	} {
		u := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "u"}}
		if test.triggered {
			u.Status.TriggerTime = &now
		}
		if test.reason != "" {
			u.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: string(test.reason)}}
		}
		reference := u.Reference()
		node := v1alpha1.NodeUpgrade{Status: v1alpha1.NodeUpgradeStatus{Upgrade: &reference}}
		if test.begun {
			node.Status.Retry.Attempts = 1
		}
		if got := (line{nodes: []v1alpha1.NodeUpgrade{node}}).stepsAside(u); got != test.want {
			t.Errorf("%+v: it steps aside: %t", test, got)
		}
	}
}
