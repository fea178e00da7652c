package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// othersNotStaged holds every node until each one in service has its image, and each
// control plane its container images. Once a node has begun, a node waits only for its
// own.
func othersNotStaged(c *cluster, _ *node) fleet.Hold {
	to := c.target.to
	switch {
	case c.begun || c.unprepared == nil:
		return fleet.Hold{}
	case c.stageError != nil:
		n, what, cause := c.stageError, "staged", c.stageError.cause
		if n.staged {
			what = "pulled the container images of"
		}
		if silent := n.agentHold(c.now); silent.Holds() {
			cause = silent
		}
		message := fmt.Sprintf("node %s has not %s %s (%s): %s", n.Name, what, to, cause.Reason, cause.Message)
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: message}
	case c.unprepared.staged:
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("not every control-plane node has the container images of %s yet", to)}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("not every node has staged %s yet", to)}
}
