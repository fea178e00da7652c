package rules

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// ClusterAPIDecides reports whether Cluster API decides which nodes begin an upgrade to a version. The policy
// may be nil.
func ClusterAPIDecides(policy *v1alpha1.UpgradePolicy) bool {
	return policy != nil && policy.Spec.VersionsFrom == v1alpha1.VersionsFromClusterAPI
}

// Request holds a node that Cluster API does not ask for, where it decides. The agent calls it again
// with what it reads itself.
func Request(policy *v1alpha1.UpgradePolicy, upgrade types.UID, kind v1alpha1.UpgradeType, node *v1alpha1.NodeUpgrade) clusterstate.Hold {
	if !ClusterAPIDecides(policy) || !kind.RunsKubeadmUpgrade() || node.RequestedFor(upgrade) {
		return clusterstate.Hold{}
	}
	return NotRequested
}

// NotRequested is the hold of a node that Cluster API does not ask for.
var NotRequested = clusterstate.Hold{
	Reason: v1alpha1.ReasonNotRequested, Message: "Cluster API decides on versions here (versionsFrom of the UpgradePolicy), and has not asked for this node",
}
