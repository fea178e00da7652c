package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// notReady holds a node that is NotReady already.
func notReady(c *cluster, n *node) fleet.Hold {
	if n.Ready {
		return fleet.Hold{}
	}
	hold := fleet.Hold{Reason: v1alpha1.ReasonNodeNotReady, Message: "the node is not Ready"}
	if hold.Stays = n.NotReadySince != nil && hasLasted(n.NotReadySince, c.now); hold.Stays {
		hold.Message = fmt.Sprintf("the node has been NotReady since %s; if it never comes back: `kubectl upgrade abandon %s`", clock(*n.NotReadySince), n.Name)
	}
	return hold
}
