package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// refused reports whether the API server refuses what a node that is at work has to
// write, so that it cannot go on.
func (n *node) refused() bool { return n.busy() && n.cause.Reason == v1alpha1.ReasonAPIWriteFailed }

// waits returns the hold of a node that waits for others. If one of those cannot write,
// the hold says so instead.
func (c *cluster) waits(hold fleet.Hold) fleet.Hold {
	if c.survey.refused == nil || !hold.Holds() {
		return hold
	}
	return c.survey.refused.cannotWrite()
}

func (n *node) cannotWrite() fleet.Hold {
	message := fmt.Sprintf("node %s cannot continue from the step %s: %s", n.Name, n.status.Step, n.cause.Message)
	return fleet.Hold{Reason: v1alpha1.ReasonAPIWriteFailed, Message: message}
}
