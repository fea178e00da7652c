package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Queued is an upgrade that has not ended, in its place in the queue.
type Queued struct {
	*v1alpha1.ClusterUpgrade // as it was read
	// CannotProceed reports whether the upgrade can neither begin nor continue for now, so
	// that others go before it.
	CannotProceed bool
	// RetriedBy is the upgrade whose retryOf names this one. Nil: there is none.
	RetriedBy *v1alpha1.ClusterUpgrade
}

// Queue returns the upgrades that have not ended, in their order at now: the active one
// is the first. Upgrades that are being deleted or superseded are left out.
func Queue(s fleet.Snapshot, now time.Time) []Queued {
	r, wake := read(&s, now), wakeTime{now: now}
	q := r.newQueue(&wake)
	current := r.inProgress()
	stuck := make(map[*target]bool, len(q.targets))
	for _, t := range q.targets {
		stuck[t] = !t.isFor(current) && t.cannotProceed(r, &wake)
	}
	if len(q.targets) > 1 {
		slices.SortStableFunc(q.targets[1:], func(a, b *target) int {
			if stuck[a] != stuck[b] {
				return map[bool]int{true: 1, false: -1}[stuck[a]]
			}
			return a.rank(r) - b.rank(r)
		})
	}
	list := make([]Queued, len(q.targets))
	for i, t := range q.targets {
		list[i] = Queued{ClusterUpgrade: upgradeNamed(s.Upgrades, t.Name), CannotProceed: stuck[t]}
		if next := q.retryOf(t); next != nil {
			list[i].RetriedBy = upgradeNamed(s.Upgrades, next.Name)
		}
	}
	return list
}
