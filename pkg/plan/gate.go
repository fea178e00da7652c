package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Gate says whether the upgrade may begin on a node with these labels at now,
// as far as people decide that: suspend, startTime, approval, windows and
// exclusions. A Hold without a reason is yes. Until is when the answer may change,
// nil where that is not known.
//
// kind is what the upgrade is for the node, as NodeUpgrade.spec.type says: one
// that joins late may be a minor behind, where the others went by a patch. One
// that is not known is held by every exclusion.
//
// need is how long what would begin is expected to take: it does not where less
// is left (InsufficientTime). Zero asks only for now, as what has begun already does.
//
// It asks the planner's own filters, for the agent: with what that reads itself,
// before it begins and before it flips.
func Gate(upgrade *v1alpha1.ClusterUpgrade, kind v1alpha1.UpgradeType, schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, now time.Time, need time.Duration) fleet.Hold {
	if hold := upgradeHold(upgrade, now); hold.Holds() {
		return hold
	}
	w := newWindows(upgrade, schedules)
	c := w.classOf(nodeLabels, kind)
	a := w.ask(c, now)
	if !a.hold.Holds() && !a.fits(now, need) {
		return w.tooShort(c, a, need)
	}
	return a.hold
}
