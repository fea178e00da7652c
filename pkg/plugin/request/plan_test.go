package request

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestNoneReleased checks that the plan for an upgrade that does not exist claims of no node that it
// was released, unless the node is at work for another one.
func TestNoneReleased(t *testing.T) {
	made := func(upgrade string, began bool) plan.Plan {
		status := v1alpha1.ClusterUpgradeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionSucceeded, Reason: string(v1alpha1.ReasonReleased), Message: plan.UpgradedMessage("w-1")},
		}}
		return plan.Plan{Upgrade: upgrade, Statuses: []plan.UpgradeStatus{{Name: upgrade, Status: status}}, Nodes: []plan.NodePlan{
			{Name: "w-1", Decision: plan.Go, Reason: v1alpha1.ReasonReleased, Message: plan.ReleasedMessage + "; its cordon stays", Began: began},
		}}
	}
	for name, test := range map[string]struct {
		decided        plan.Plan
		headline, node string
	}{
		"supposed":            {made(supposed, false), "node w-1 may begin at once", "the node may begin at once; its cordon stays"},
		"at work for another": {made(supposed, true), "node w-1 is being upgraded", "the coordinator released the node; its cordon stays"},
		"it exists":           {made("v1.34.5", false), "node w-1 is being upgraded", "the coordinator released the node; its cordon stays"},
	} {
		decided := NoneReleased(test.decided)
		_, headline := statusOf(decided).Explain()
		if headline != test.headline || decided.Nodes[0].Message != test.node {
			t.Errorf("%s: got %q and %q, want %q and %q", name, headline, decided.Nodes[0].Message, test.headline, test.node)
		}
	}
}
