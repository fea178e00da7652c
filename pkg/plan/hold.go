package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// HoldGate says whether a person keeps the node with these labels from beginning.
// The planner asks it, and the agent again with what it reads itself.
func HoldGate(labels map[string]string) fleet.Hold {
	if _, held := labels[v1alpha1.HoldLabel]; !held {
		return fleet.Hold{}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonOnHold, Message: "the Node bears the label " + v1alpha1.HoldLabel}
}
