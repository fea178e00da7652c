package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// stepForbidden holds a node whose version step Kubernetes does not allow, or whose
// next boot would change its Kubernetes version.
func stepForbidden(c *cluster, n *node) fleet.Hold {
	switch {
	case n.step == nil:
		return fleet.Hold{}
	case c.target.reboot:
		return fleet.Hold{Reason: v1alpha1.ReasonNextBootDiffers, Message: n.step.Error()}
	}
	return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: n.step.Error()}
}
