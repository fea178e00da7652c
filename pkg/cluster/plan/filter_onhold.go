package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// onHold holds a node with the hold label.
func onHold(_ *cluster, n *node) fleet.Hold {
	if !n.onHold {
		return fleet.Hold{}
	}
	return HoldLabelGate(n.Labels)
}

// HoldLabelGate holds a node whose labels include the hold label. The agent calls it again
// with what it reads itself.
func HoldLabelGate(nodeLabels map[string]string) fleet.Hold {
	if _, held := nodeLabels[v1alpha1.HoldLabel]; !held {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonOnHold, Message: "the Node has the label " + v1alpha1.HoldLabel}
}
