package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// otherManager holds every node while another program may reboot managed nodes.
func otherManager(c *cluster, n *node) fleet.Hold {
	hold := ManagerGate(c.RebootManagers, c.target.Spec, n.ControlPlane, c.leaves)
	hold.Stays = hold.Stays || hold.Holds() && c.lockOverdue()
	return hold
}

// lockLimit is how long kured may hold its lock before a person has to look at it: its
// node has not come back, or the lock was forgotten.
const lockLimit = time.Hour

// lockOverdue reports whether a lock of kured has been held for too long.
func (c *cluster) lockOverdue() bool {
	return slices.ContainsFunc(c.RebootManagers, func(m fleet.RebootManager) bool {
		return m.Since != nil && c.now.Sub(*m.Since) >= lockLimit && !ignored(m, c.target.Spec)
	})
}

// ManagerGate holds a node while another program may reboot nodes, unless the check that
// finds it is ignored. A worker does not wait for kured's lock if all holders are nodes
// that left reports to be left to other programs: they use up the budget instead. The
// agent calls ManagerGate again with what it reads itself.
func ManagerGate(found []fleet.RebootManager, spec v1alpha1.ClusterUpgradeSpec, controlPlane bool, left func(node string) bool) fleet.Hold {
	for _, manager := range found {
		if !ignored(manager, spec) && (controlPlane || !leftToOthers(manager, left)) {
			return fleet.Hold{Reason: v1alpha1.ReasonOtherRebootManager, Message: manager.Message, Stays: !manager.Passes}
		}
	}
	return fleet.Hold{}
}

func ignored(manager fleet.RebootManager, spec v1alpha1.ClusterUpgradeSpec) bool {
	return spec.Ignores(preflight.ManagerCheck(manager.Name))
}

func leftToOthers(manager fleet.RebootManager, left func(node string) bool) bool {
	return len(manager.Nodes) > 0 && !slices.ContainsFunc(manager.Nodes, func(name string) bool { return !left(name) })
}

// leaves reports whether the node of that name is left to other programs: it exists, is
// not managed, and no upgrade has taken it out of service.
func (c *cluster) leaves(name string) bool {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })
	return i >= 0 && !c.manages(c.nodes[i]) && !c.nodes[i].busy()
}

// rebootedByOthers returns the nodes left to kured that it holds its lock for: it takes
// them out of service, or is about to.
func (c *cluster) rebootedByOthers() (nodes []string) {
	for _, manager := range c.RebootManagers {
		if c.target != nil && !ignored(manager, c.target.Spec) && leftToOthers(manager, c.leaves) {
			nodes = append(nodes, manager.Nodes...)
		}
	}
	return nodes
}
