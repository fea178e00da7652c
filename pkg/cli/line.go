package cli

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// line is the upgrades of a cluster, and its nodes, whose orders and words tell
// which of them is active and which has begun.
type line struct {
	upgrades []v1alpha1.ClusterUpgrade
	nodes    []v1alpha1.NodeUpgrade
}

func lineOf(s fleet.Snapshot) line { return line{s.Upgrades, s.NodeUpgrades} }

// open returns the upgrades that have not ended: the active one, then the queue,
// oldest first. Which one is active the coordinator says: some step aside, and a
// Reboot and an upgrade that brings a version change places.
func (l line) open() []*v1alpha1.ClusterUpgrade {
	ordered := map[string]bool{}
	for _, n := range l.nodes {
		if n.Spec.Upgrade != nil {
			ordered[n.Spec.Upgrade.UID] = true
		}
	}
	rank := func(u *v1alpha1.ClusterUpgrade) (rank int) {
		reason := viewUpgrade(u).Reason
		if !ordered[string(u.UID)] {
			rank += 4
		}
		if u.Status.TriggerTime == nil || reason == v1alpha1.ReasonQueued {
			rank += 2
		}
		if reason.Info().HeldByPeople {
			rank++
		}
		return rank
	}
	var open []*v1alpha1.ClusterUpgrade
	for i := range l.upgrades {
		if l.upgrades[i].Status.Outcome == "" {
			open = append(open, &l.upgrades[i])
		}
	}
	slices.SortFunc(open, func(a, b *v1alpha1.ClusterUpgrade) int {
		return cmp.Or(rank(a)-rank(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return open
}

// stepsAside reports whether the upgrade holds up no other for now: it has not
// begun, and people hold it back, or it cannot be triggered.
func (l line) stepsAside(u *v1alpha1.ClusterUpgrade) bool {
	reason := viewUpgrade(u).Reason
	cannot := u.Status.TriggerTime == nil && reason != "" && reason != v1alpha1.ReasonQueued
	return (cannot || reason.Info().HeldByPeople) && !slices.ContainsFunc(l.nodes, func(n v1alpha1.NodeUpgrade) bool {
		return isFor(n.Status.Upgrade, u) && n.Status.Retry.Attempts > 0
	})
}
