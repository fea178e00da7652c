package rules

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// observed is the hold of every node while the policy's mode is Observe.
var observed = clusterstate.Hold{
	Reason:  v1alpha1.ReasonObserved,
	Message: "the cluster is only observed: nothing on any node is changed until spec.mode of UpgradePolicy cluster is Manage",
}

// missing is the hold of every node while there is no policy. A policy that is deleted
// was not replaced by one that says Observe: nodes that are managed stay managed.
var missing = clusterstate.Hold{
	Reason:  v1alpha1.ReasonPolicyMissing,
	Message: "there is no UpgradePolicy cluster: nothing begins on any node, and no node is given back, until an administrator creates it",
}

// Policy returns why the policy, nil if there is none, allows no change of any node.
func Policy(policy *v1alpha1.UpgradePolicy) clusterstate.Hold {
	switch {
	case policy == nil:
		return missing
	case policy.Observes():
		return observed
	}
	return clusterstate.Hold{}
}

// FollowedUpgrade returns the upgrade to whose version late and returning nodes are
// brought, as the policy's status describes it, for when its ClusterUpgrade is deleted.
// Nil: there is none.
func FollowedUpgrade(policy *v1alpha1.UpgradePolicy) *v1alpha1.ClusterUpgrade {
	if policy == nil || policy.Status.Version == "" || policy.Status.Upgrade == nil {
		return nil
	}
	status := policy.Status
	u := &v1alpha1.ClusterUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: status.Upgrade.Name, UID: types.UID(status.Upgrade.UID)},
		// It succeeded, so that it was approved if that was required.
		Spec: v1alpha1.ClusterUpgradeSpec{Version: status.Version, Approved: v1alpha1.Approved{Upgrade: true}},
		Status: v1alpha1.ClusterUpgradeStatus{
			Type: v1alpha1.TypePatch, Images: status.Images, Outcome: v1alpha1.OutcomeSucceeded,
		},
	}
	for i := range status.Ran {
		if status.Ran[i].Upgrade == *status.Upgrade {
			u.Status.EndTime = status.Ran[i].SinceTime // if it is known
		}
	}
	if slices.ContainsFunc(status.TakenBack, func(taken v1alpha1.TakenBackVersion) bool { return taken.Upgrade == *status.Upgrade }) {
		u.Spec.Type, u.Status.Type = v1alpha1.TypeRollback, v1alpha1.TypeRollback
	}
	return u
}

// TypeOf returns the upgrade's type as derived at the trigger, or before that the one
// in its spec. Empty: not known yet.
func TypeOf(upgrade *v1alpha1.ClusterUpgrade) v1alpha1.UpgradeType {
	if upgrade.Status.Type != "" {
		return upgrade.Status.Type
	}
	return upgrade.Spec.Type
}
