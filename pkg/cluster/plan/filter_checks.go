package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// checkBlocks holds every node, or this one, because of what preflight found.
func checkBlocks(c *cluster, n *node) fleet.Hold {
	if len(c.checks.blockAll) > 0 {
		return c.allBlocked()
	}
	if f := c.checks.blockNode[n.Name]; f != nil {
		return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: sentences(f), Stays: true}
	}
	return fleet.Hold{}
}

// allBlocked returns the first finding that holds every node, and how many more there
// are. While a control-plane node is being upgraded, findings may be caused by the upgrade
// itself, as its pods and its etcd member restart: no person has to act on them.
func (c *cluster) allBlocked() fleet.Hold {
	if c.busyControlPlane != nil {
		message := fmt.Sprintf("control-plane node %s is being upgraded; the checks decide when it is done", c.busyControlPlane.Name)
		return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
	}
	message := sentences(c.checks.blockAll[0])
	switch more := len(c.checks.blockAll) - 1; more {
	case 0:
	case 1:
		message += " One more check blocks."
	default:
		message += fmt.Sprintf(" %d more checks block.", more)
	}
	return fleet.Hold{Reason: v1alpha1.ReasonPreflight, Message: message, Stays: true}
}
