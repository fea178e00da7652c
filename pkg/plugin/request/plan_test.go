package request

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestNoneReleased checks that the plan for an upgrade that does not exist claims of no node that it
// was released, and that one that is at work for another upgrade ends that first.
func TestNoneReleased(t *testing.T) {
	made := func(upgrade string, began bool) plan.Plan {
		status := v1alpha1.ClusterUpgradeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionSucceeded, Reason: string(v1alpha1.ReasonReleased), Message: plan.UpgradedMessage("w-1")},
		}}
		return plan.Plan{Upgrade: upgrade, Statuses: []plan.UpgradeStatus{{Name: upgrade, Status: status}}, Nodes: []plan.NodePlan{
			{Name: "w-1", Decision: plan.Go, Reason: v1alpha1.ReasonReleased, Message: plan.ReleasedMessage + "; its cordon stays", Began: began},
		}}
	}
	other := func(upgrade string, nothingToDo v1alpha1.Reason) plan.Plan {
		p := made(upgrade, true)
		p.Nodes[0].AtWorkFor, p.Nodes[0].NothingToDo = "v1.34.4", nothingToDo
		return p
	}
	withdrawn := other(supposed, v1alpha1.ReasonNotSelected)
	withdrawn.Nodes[0].Decision, withdrawn.Nodes[0].Reason = plan.Wait, v1alpha1.ReasonUpgradeWithdrawn
	for name, test := range map[string]struct {
		decided        plan.Plan
		headline, node string
		decision       plan.Decision
	}{
		"supposed":  {made(supposed, false), "node w-1 may begin at once", "the node may begin at once; its cordon stays", plan.Go},
		"it exists": {made("v1.34.5", false), "node w-1 is being upgraded", "the coordinator released the node; its cordon stays", plan.Go},
		"at work for another": {other(supposed, ""), "node w-1 is at work for ClusterUpgrade v1.34.4, and ends that first",
			"is at work for ClusterUpgrade v1.34.4, and ends that first", plan.Wait},
		"at work for another, and it exists": {other("v1.34.5", ""), "node w-1 is at work for ClusterUpgrade v1.34.4, and ends that first",
			"is at work for ClusterUpgrade v1.34.4, and ends that first", plan.Wait},
		"could still abort for it": {withdrawn, "node w-1 is at work for ClusterUpgrade v1.34.4, and ends that first",
			"is at work for ClusterUpgrade v1.34.4; this one has nothing to do on it", plan.Done},
		"at work for this one": {made("v1.34.5", true), "node w-1 is being upgraded", "the coordinator released the node; its cordon stays", plan.Go},
		"at work for another, and this one has nothing to do": {other(supposed, v1alpha1.ReasonNotSelected), "node w-1 is at work for ClusterUpgrade v1.34.4, and ends that first",
			"is at work for ClusterUpgrade v1.34.4; this one has nothing to do on it", plan.Done},
	} {
		decided := NoneReleased(test.decided)
		_, headline := statusOf(decided).Explain()
		if headline != test.headline || decided.Nodes[0].Message != test.node || decided.Nodes[0].Decision != test.decision {
			t.Errorf("%s: got %q, %q and %s, want %q, %q and %s", name, headline, decided.Nodes[0].Message, decided.Nodes[0].Decision, test.headline, test.node, test.decision)
		}
	}
}
