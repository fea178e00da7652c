package api_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestExplain checks that the agent's reason counts while its node works, and the coordinator's
// once the node does not come back.
func TestExplain(t *testing.T) {
	for name, test := range map[string]struct {
		cause, hold, want v1alpha1.Reason
	}{
		"waits for the coordinator":    {v1alpha1.ReasonAwaitingRelease, v1alpha1.ReasonNotItsTurn, v1alpha1.ReasonNotItsTurn},
		"no agent has reported":        {"", v1alpha1.ReasonNotStaged, v1alpha1.ReasonNotStaged},
		"is at work, and called back":  {v1alpha1.ReasonDraining, v1alpha1.ReasonWindowClosed, v1alpha1.ReasonDraining},
		"was drained, and is lost":     {v1alpha1.ReasonDraining, v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNodeNotBack},
		"there is nothing to be said":  {v1alpha1.ReasonUpToDate, "", v1alpha1.ReasonUpToDate},
		"its writes are being refused": {v1alpha1.ReasonAPIWriteFailed, v1alpha1.ReasonNotItsTurn, v1alpha1.ReasonAPIWriteFailed},
	} {
		status := v1alpha1.NodeUpgradeStatus{}
		for kind, reason := range map[string]v1alpha1.Reason{v1alpha1.ConditionUpToDate: test.cause, v1alpha1.ConditionAdmitted: test.hold} {
			if reason != "" {
				status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: string(reason)})
			}
		}
		if got, _ := status.Explain(); got != test.want {
			t.Errorf("a node that %s: got %s, want %s", name, got, test.want)
		}
	}
}
