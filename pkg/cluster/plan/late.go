package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Nodes that join late or return, and nodes that the policy begins to select, are brought to
// the version of the last upgrade that succeeded. They pass all filters. kubeadm on a control
// plane changes the whole cluster, and that upgrade's trigger, approval and snapshot of etcd
// were about other control planes: if one is behind, an upgrade of its own is created.

// lateTarget returns the upgrade to whose version late nodes are brought. Nil: there is
// none.
func (r *reading) lateTarget() *target {
	u := r.followed()
	if u == nil {
		return nil
	}
	t := r.newTarget(u)
	t.forLateNodes, t.hold = true, r.policyHold
	return t
}

// hasWork reports whether a late worker may be upgraded at some time.
func (t *target) hasWork(r *reading) bool {
	windows := newWindows(t.ClusterUpgrade, r.Schedules)
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return !n.ControlPlane && t.isBehind(r, n, windows) })
}

// isBehind reports whether the late node is not up to date and may be upgraded at some time.
func (t *target) isBehind(r *reading, n *node, windows *windows) bool {
	return t.concerns(n) && !t.upToDate(n) && !never(t.mayGo(n, windows, r.now))
}

// lateControlPlane holds a control-plane node that is late.
func lateControlPlane(c *cluster, n *node) fleet.Hold {
	if !c.target.forLateNodes || !n.ControlPlane {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("a control plane gets %s by a ClusterUpgrade of its own, with its checks and approvals", c.target.to)
	return fleet.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
}

// upgradeOfControlPlanes returns the upgrade of its own that a late control plane needs. Nil:
// there is none, or an upgrade in the queue brings the version.
func (r *reading) upgradeOfControlPlanes(q queue) *v1alpha1.ClusterUpgrade {
	late := r.lateTarget()
	if late == nil || late.hold.Holds() {
		return nil
	}
	windows := newWindows(late.ClusterUpgrade, r.Schedules)
	i := slices.IndexFunc(r.nodes, func(n *node) bool { return n.ControlPlane && n.Ready && late.isBehind(r, n, windows) })
	if i < 0 || slices.ContainsFunc(q.targets, func(t *target) bool { return !t.to.Less(late.to) && t.concerns(r.nodes[i]) }) {
		return nil
	}
	u := newAutomatic(late.to.Name()+"-control-planes", v1alpha1.TypePatch)
	base := u.Name
	for number := 2; r.isNamed(u.Name); number++ {
		u.Name = fmt.Sprintf("%s-%d", base, number)
	}
	u.Spec.Type, u.Spec.Version = "", late.Spec.Version
	return u
}

// isNamed reports whether there is an upgrade of that name, or the record of one.
func (r *reading) isNamed(name string) bool {
	return upgradeNamed(r.Upgrades, name) != nil ||
		slices.ContainsFunc(r.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Upgrade.Name == name })
}
