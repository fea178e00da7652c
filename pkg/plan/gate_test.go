package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Ignore is for the nodes that were there: an agent that asks the gate itself,
// on a node that joined after the upgrade ended, hears of windows too.
func TestIgnoreEndsWithTheUpgrade(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	u := &v1alpha1.ClusterUpgrade{Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4", Schedule: v1alpha1.ScheduleIgnore}}
	if hold := plan.Gate(u, v1alpha1.TypePatch, nil, nil, now, 0); hold.Reason != "" {
		t.Errorf("while it runs: %s: %s", hold.Reason, hold.Message)
	}
	u.Status.Outcome = v1alpha1.OutcomeSucceeded
	if hold := plan.Gate(u, v1alpha1.TypePatch, nil, nil, now, 0); hold.Reason != v1alpha1.ReasonWindowClosed {
		t.Errorf("after it ended: %q: %s", hold.Reason, hold.Message)
	}
}
