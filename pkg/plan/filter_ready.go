package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// notReady holds a node that is NotReady already.
func notReady(_ *cluster, n *node) fleet.Hold {
	if n.Ready {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNodeNotReady, Message: "the node is not Ready"}
}
