package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// onHold holds a node that a person has labelled so.
func onHold(_ *cluster, n *node) fleet.Hold {
	if !n.onHold {
		return fleet.Hold{}
	}
	return HoldGate(n.Labels)
}

// HoldGate says whether a person keeps the node with these labels from beginning.
// The agent asks it again with what it reads itself.
func HoldGate(nodeLabels map[string]string) fleet.Hold {
	if _, held := nodeLabels[v1alpha1.HoldLabel]; !held {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonOnHold, Message: "the Node bears the label " + v1alpha1.HoldLabel}
}
