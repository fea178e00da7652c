package watch

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// upgrade returns a ClusterUpgrade to v1.34.4 with these conditions.
func upgrade(outcome v1alpha1.Outcome, conditions ...metav1.Condition) v1alpha1.ClusterUpgrade {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "u", UID: "1"}}
	u.Spec.Version = "v1.34.4"
	u.Status.Outcome, u.Status.Conditions = outcome, conditions
	return u
}

// condition returns the condition of that type and reason, which is True.
func condition(kind string, reason v1alpha1.Reason) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: string(reason), Message: "why"}
}

func TestOutcome(t *testing.T) {
	waits := func(reason v1alpha1.Reason) metav1.Condition {
		c := condition(v1alpha1.ConditionSucceeded, reason)
		c.Status = metav1.ConditionUnknown
		return c
	}
	tests := map[string]struct {
		policy   *v1alpha1.UpgradePolicy
		upgrades []v1alpha1.ClusterUpgrade
		name     string
		ended    bool
		want     string // in the error; empty: there is none
	}{
		"no upgrade is active yet": {name: ""},
		"it is at work":            {upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonReleased))}, name: "u"},
		"it waits for a window":    {upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonWindowClosed))}, name: "u"},
		"it was deleted":           {upgrades: []v1alpha1.ClusterUpgrade{upgrade(v1alpha1.OutcomeSucceeded)}, name: "other", ended: true, want: "ClusterUpgrade other was deleted before it ended"},
		"it succeeded":             {upgrades: []v1alpha1.ClusterUpgrade{upgrade(v1alpha1.OutcomeSucceeded)}, name: "u", ended: true},
		"it failed":                {upgrades: []v1alpha1.ClusterUpgrade{upgrade(v1alpha1.OutcomeFailed)}, name: "u", ended: true, want: "ClusterUpgrade u ended: Failed"},
		"a node failed": {
			upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonNodeFailed), condition(v1alpha1.ConditionStalled, v1alpha1.ReasonNodeFailed))},
			name:     "u", ended: true, want: "`kubectl upgrade apply v1.34.4 --retry`",
		},
		"a node failed, and its version is blocked": {
			policy:   &v1alpha1.UpgradePolicy{Spec: v1alpha1.UpgradePolicySpec{BlockedVersions: []v1alpha1.BlockedVersion{{Version: "v1.34.4"}}}},
			upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonNodeFailed), condition(v1alpha1.ConditionStalled, v1alpha1.ReasonNodeFailed))},
			name:     "u", ended: true, want: "`kubectl upgrade unblock v1.34.4`, and `kubectl upgrade apply v1.34.4 --retry`",
		},
		"it is stalled by a wrong object": {
			upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonUpgradeInvalid), condition(v1alpha1.ConditionStalled, v1alpha1.ReasonUpgradeInvalid))},
			name:     "u", ended: true, want: "cannot continue by itself: UpgradeInvalid",
		},
		"a check blocks it, and it will resume by itself": {
			upgrades: []v1alpha1.ClusterUpgrade{upgrade("", waits(v1alpha1.ReasonPreflight), condition(v1alpha1.ConditionStalled, v1alpha1.ReasonPreflight))},
			name:     "u",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ended, err := Outcome(clusterstate.Snapshot{Policy: test.policy, Upgrades: test.upgrades}, test.name)
			if ended != test.ended || (err != nil) != (test.want != "") {
				t.Fatalf("got %t, %v; want %t, %q", ended, err, test.ended, test.want)
			}
			if err != nil && (!strings.Contains(err.Error(), test.want) || !errors.As(err, new(Failure))) {
				t.Errorf("got %T %v, want a Failure with %q", err, err, test.want)
			}
		})
	}
}
