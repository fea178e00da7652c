package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Gate says whether the upgrade may begin on a node with these labels at now,
// as far as people decide that: suspend, startTime, windows and exclusions. A
// fleet.Hold without a reason is yes. Until is when the answer may change, nil where
// that is not known.
//
// kind is what the upgrade is for the node, as NodeUpgrade.spec.type says: one
// that joins late may be a minor behind, where the others went by a patch. One
// that is not known is held by every exclusion.
//
// need is how long what would begin is expected to take: it does not where less
// is left (TimeLeft). Zero asks only for now, as what has begun already does.
//
// The planner asks it before it releases a node, and the agent again, with what
// it reads itself, before it begins and before it flips.
func Gate(upgrade *v1alpha1.ClusterUpgrade, kind v1alpha1.UpgradeType, schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, now time.Time, need time.Duration) fleet.Hold {
	g := newGates(upgrade, schedules, now)
	c := g.classOf(nodeLabels, kind)
	g.look(c)
	if c.hold.Reason == "" && !c.fits(now, need) {
		return g.tooShort(c, need)
	}
	return c.hold
}

// gate is Gate for c at a moment that is looked at already. closes is when an open
// gate closes, if that is known.
func (g *gates) gate(c *class, moment *schedule.Moment, now time.Time) (hold fleet.Hold, closes *time.Time) {
	upgrade := g.upgrade
	if upgrade.Spec.Suspend {
		return fleet.Hold{Reason: v1alpha1.ReasonSuspended, Message: fmt.Sprintf("upgrade %s is suspended", upgrade.Name)}, nil
	}
	if start := upgrade.Spec.StartTime; start != nil && now.Before(start.Time) {
		return fleet.Hold{
			Reason:  v1alpha1.ReasonNotStarted,
			Message: fmt.Sprintf("upgrade %s starts %s", upgrade.Name, clock(start.Time)),
			Until:   &start.Time,
		}, nil
	}
	verdict := moment.At(c.labels, c.kind)
	// A node that joins after the upgrade ended waits for a window, whatever the
	// others did not.
	if upgrade.Spec.IgnoreWindows && upgrade.Status.Outcome == "" {
		verdict = moment.IgnoringWindows(c.labels, c.kind)
	}
	if verdict.Open {
		return fleet.Hold{}, verdict.Until
	}
	return fleet.Hold{Reason: verdict.Reason, Message: verdict.Message, Until: verdict.Until}, nil
}

// clock writes an instant for people, where no schedule's zone is at hand.
func clock(t time.Time) string {
	return t.UTC().Format("2006-01-02 15:04 MST")
}

// TypeOf is the upgrade's type as it was derived at the trigger, or as it was
// written before that. Empty: not known yet.
func TypeOf(upgrade *v1alpha1.ClusterUpgrade) v1alpha1.UpgradeType {
	if upgrade.Status.Type != "" {
		return upgrade.Status.Type
	}
	return upgrade.Spec.Type
}

// kindFor is what the upgrade is for a node with that kubelet. One that joins
// after a patch may be a minor behind.
func kindFor(upgrade *v1alpha1.ClusterUpgrade, kubelet version.Version) v1alpha1.UpgradeType {
	kind := TypeOf(upgrade)
	to, err := version.Parse(upgrade.Spec.Version)
	if kind == v1alpha1.TypePatch && err == nil && known(kubelet) && !kubelet.SameLine(to) {
		return v1alpha1.TypeMinor
	}
	return kind
}
