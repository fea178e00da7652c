package plan_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// TestNodeUpgradeOfEarlierNodeIsIgnored checks that the NodeUpgrade of a deleted node does
// not count for a new node of the same name.
func TestNodeUpgradeOfEarlierNodeIsIgnored(t *testing.T) {
	nodeUpgrade := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: "w1", UID: "old"}}}}
	nodeUpgrade.Status = v1alpha1.NodeUpgradeStatus{Step: v1alpha1.StepFailed}
	for uid, want := range map[string]plan.Decision{"old": plan.Blocked, "new": plan.Done} {
		s := clusterstate.Snapshot{
			Nodes:        []clusterstate.Node{{Name: "w1", UID: uid, Kubelet: "v1.34.3", Ready: true}},
			NodeUpgrades: []v1alpha1.NodeUpgrade{nodeUpgrade},
		}
		if got := plan.Decide(s, time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)).Nodes[0]; got.Decision != want {
			t.Errorf("%s: %s (%s)", uid, got.Decision, got.Message)
		}
	}
}
