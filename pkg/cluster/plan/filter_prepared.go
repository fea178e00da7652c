package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// cannotPrepare holds a node on which the image cannot be staged, or a container image of the
// control plane cannot be pulled.
func cannotPrepare(_ *cluster, n *node) fleet.Hold {
	if n.prepared || !n.cannotStage() {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: n.cause.Reason, Message: n.cause.Message, Stays: true}
}

// notPrepared holds a node that lacks the image, or a container image of the control
// plane.
func notPrepared(c *cluster, n *node) fleet.Hold {
	switch {
	case n.prepared:
		return fleet.Hold{}
	case n.silent():
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: "no agent has reported from this node yet"}
	case n.staged:
		return fleet.Hold{Reason: v1alpha1.ReasonPullingImages, Message: fmt.Sprintf("the container images of %s are not on the node yet", c.target.to)}
	case c.Source.Problem.Holds():
		return c.Source.Problem
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("the image of %s is not staged yet", c.target.to)}
}
