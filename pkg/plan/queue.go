package plan

import (
	"cmp"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// queue is the upgrades that have not ended.
type queue struct {
	targets    []*target // the first is active
	superseded []ended   // they end without their turn
	passed     bool      // the active one cannot begin, or go on, for now: nor can another
	asked      *target   // of nodes now: the active one, or the one that late nodes follow
}

// ended is an upgrade that ends, and the newer one that is why.
type ended struct {
	*target
	newer *v1alpha1.ClusterUpgrade
}

// line returns the queue, and what it asks of nodes.
func (r *reading) line(wake *alarm) queue {
	var q queue
	for _, u := range unfinished(r.Upgrades) {
		t := r.newTarget(u)
		if newer := r.supersedes(t); newer != nil {
			q.superseded = append(q.superseded, ended{t, newer})
		} else {
			q.targets = append(q.targets, t)
		}
	}
	late := r.late()
	behind := late != nil && late.left(r)
	if len(q.targets) > 1 || behind || len(r.policySpec().Automatic) > 0 {
		q.choose(r, wake)
	}
	if len(q.targets) == 0 || q.passed && behind {
		q.asked = late
		return q
	}
	q.targets[0] = q.targets[0].triggered(r)
	q.asked = q.targets[0]
	return q
}

// late returns the upgrade that nodes follow which join late or come back. Nil: there
// is none.
func (r *reading) late() *target {
	u := r.followed()
	if u == nil {
		return nil
	}
	t := r.newTarget(u)
	t.follows, t.hold = true, r.policyHold
	return t
}

// left reports whether a node still has to follow that may go some time.
func (t *target) left(r *reading) bool {
	windows := newWindows(t.ClusterUpgrade, r.Schedules)
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		return t.concerns(n) && !t.upToDate(n) && !never(t.mayGo(n, windows, r.now))
	})
}

// unfinished returns copies of the upgrades that have not ended: those that were
// triggered first, then the oldest, and one that takes another's place in that
// place.
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

// triggeredFirst keeps the one that was triggered in front, should an older one
// turn up.
func triggeredFirst(u *v1alpha1.ClusterUpgrade) int {
	if u.Status.TriggerTime != nil {
		return 0
	}
	return 1
}
