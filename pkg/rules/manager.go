package rules

import (
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// OtherManager holds a node while another program may reboot nodes, unless the check that
// finds it is Ignored. A worker does not wait for kured's lock if all holders are nodes
// that left reports to be left to other programs: they use up the budget instead. The
// agent calls OtherManager again with what it reads itself.
func OtherManager(found []clusterstate.RebootManager, spec v1alpha1.ClusterUpgradeSpec, controlPlane bool, left func(node string) bool) clusterstate.Hold {
	for _, manager := range found {
		if !Ignored(manager, spec) && (controlPlane || !LeftToOthers(manager, left)) {
			return clusterstate.Hold{Reason: v1alpha1.ReasonOtherRebootManager, Message: manager.Message, Stays: !manager.Passes}
		}
	}
	return clusterstate.Hold{}
}

// Ignored reports whether the upgrade ignores the check that finds the program.
func Ignored(manager clusterstate.RebootManager, spec v1alpha1.ClusterUpgradeSpec) bool {
	return spec.Ignores(ManagerCheck(manager.Name))
}

// LeftToOthers reports whether all nodes that the program reboots are left to other programs.
func LeftToOthers(manager clusterstate.RebootManager, left func(node string) bool) bool {
	return len(manager.Nodes) > 0 && !slices.ContainsFunc(manager.Nodes, func(name string) bool { return !left(name) })
}

// ManagerCheck returns the id of the check that blocks while the program of that
// name may reboot nodes.
func ManagerCheck(name string) string {
	switch strings.ToLower(name) {
	case "kured":
		return "kured-lock"
	case "fluo":
		return "fluo"
	}
	return "reboot-manager"
}
