package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// writeFailed reports whether the API server refuses what a node that is being upgraded
// has to write, so that the node cannot continue.
func (n *node) writeFailed() bool { return n.busy() && n.cause.Reason == v1alpha1.ReasonAPIWriteFailed }

// orWriteFailure returns the hold of a node that waits for others. If one of those cannot
// write, it returns a hold that says so instead.
func (c *cluster) orWriteFailure(hold fleet.Hold) fleet.Hold {
	if c.survey.writeFailed == nil || !hold.Holds() {
		return hold
	}
	return c.survey.writeFailed.cannotWrite()
}

func (n *node) cannotWrite() fleet.Hold {
	message := fmt.Sprintf("node %s cannot continue from the step %s: %s", n.Name, n.status.Step, n.cause.Message)
	return fleet.Hold{Reason: v1alpha1.ReasonAPIWriteFailed, Message: message}
}
