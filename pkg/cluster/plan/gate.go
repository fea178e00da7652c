package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Gate returns why the upgrade may not begin on a node with these labels at now, as far
// as people decide that: suspend, startTime, approval, windows and exclusions. A Hold
// without a reason means that it may. Until is when the result may change; nil: that is
// not known.
//
// kind is the upgrade's type for this node, as in NodeUpgrade.spec.type: a node that
// joins late may be a minor behind. An unknown type is held by every exclusion.
//
// need is how long the node is expected to take: Gate returns InsufficientTime if the
// window closes before. Zero checks only now, for a node that has begun already.
//
// Gate runs the planner's own filters, for the agent: it calls Gate with what it reads
// itself, before it begins and before it activates the image.
func Gate(upgrade *v1alpha1.ClusterUpgrade, kind v1alpha1.UpgradeType, schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, now time.Time, need time.Duration) fleet.Hold {
	if hold := upgradeHold(upgrade, now); hold.Holds() {
		return hold
	}
	w := newWindows(upgrade, schedules)
	c := w.classOf(nodeLabels, kind)
	a := w.lookup(c, now)
	if !a.hold.Holds() && !a.fits(now, need) {
		return w.tooShort(c, a, need)
	}
	return a.hold
}
