package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// otherManager holds every node while another program may reboot nodes.
func otherManager(c *cluster, _ *node) fleet.Hold {
	return ManagerGate(c.RebootManagers, c.target.Spec)
}

// ManagerGate holds every node while another program may reboot nodes, unless the check
// that finds it is ignored. The agent calls it again with what it reads itself.
func ManagerGate(found []preflight.RebootManager, spec v1alpha1.ClusterUpgradeSpec) fleet.Hold {
	for _, manager := range found {
		if !spec.Ignores(preflight.ManagerCheck(manager.Name)) {
			return fleet.Hold{Reason: v1alpha1.ReasonOtherRebootManager, Message: manager.Message, Stays: !manager.Passes}
		}
	}
	return fleet.Hold{}
}
