package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// nodeFailed holds every node after another one has failed, or until one that failed
// in an earlier upgrade is back in service.
func nodeFailed(c *cluster, _ *node) fleet.Hold {
	switch {
	case c.failed != nil:
		message := fmt.Sprintf("node %s failed (%s): no other node begins", c.failed.Name, c.failed.cause.Reason)
		return fleet.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message}
	case c.aborting != nil:
		n := c.aborting
		message := fmt.Sprintf("node %s aborts its attempt at upgrade %s first, in which it failed; if it never comes back: `kubectl upgrade abandon %s`", n.Name, n.status.Upgrade.Name, n.Name)
		return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
	}
	return fleet.Hold{}
}
