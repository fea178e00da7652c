package plan

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// queue is the upgrades that have not ended.
type queue struct {
	targets        []*target // the first is active
	superseded     []ended   // they end without becoming active
	noneCanProceed bool      // no upgrade can begin or continue for now
	planned        *target   // the upgrade that nodes are planned for: the active one, or lateTarget
}

// ended is a superseded upgrade, and the newer one that supersedes it.
type ended struct {
	*target
	newer *v1alpha1.ClusterUpgrade
}

// newQueue returns the queue with the upgrade that nodes are planned for.
func (r *reading) newQueue(wake *wakeTime) queue {
	var q queue
	for _, u := range unfinished(r.Upgrades) {
		t := r.newTarget(u)
		if newer := r.supersedes(t); newer != nil {
			q.superseded = append(q.superseded, ended{t, newer})
		} else {
			q.targets = append(q.targets, t)
		}
	}
	late := r.lateTarget()
	if len(q.targets) > 1 || late != nil || len(r.policySpec().Automatic) > 0 {
		q.choose(r, wake)
	}
	if len(q.targets) == 0 || q.noneCanProceed && late != nil && late.hasWork(r) {
		q.planned = late
		return q
	}
	q.targets[0] = q.targets[0].triggered(r)
	q.planned = q.targets[0]
	return q
}

// unfinished returns copies of the upgrades that have not ended: triggered ones first,
// then by age. A retry has the place of the upgrade that it retries.
func unfinished(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var open []*v1alpha1.ClusterUpgrade
	place := map[*v1alpha1.ClusterUpgrade]*v1alpha1.ClusterUpgrade{}
	for i := range upgrades {
		if upgrades[i].Status.Outcome == "" && upgrades[i].DeletionTimestamp == nil {
			u := upgrades[i].DeepCopy()
			open, place[u] = append(open, u), placeOf(u, upgrades)
		}
	}
	slices.SortFunc(open, func(a, b *v1alpha1.ClusterUpgrade) int {
		return cmp.Or(
			triggeredFirst(a)-triggeredFirst(b),
			place[a].CreationTimestamp.Compare(place[b].CreationTimestamp.Time),
			cmp.Compare(place[a].Name, place[b].Name),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return open
}

// triggeredFirst returns the sort key that keeps triggered upgrades in front of older
// ones that appear later.
func triggeredFirst(u *v1alpha1.ClusterUpgrade) int {
	if u.Status.TriggerTime != nil {
		return 0
	}
	return 1
}
