package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// A node that failed keeps its slot, and its upgrade stays active: no other node starts
// until a person decides. To retry the upgrade, with another ClusterUpgrade whose
// retryOf names it, is such a decision: the failed one ends, the other becomes active,
// and the failed node starts again. An upgrade that only waits in the queue changes
// nothing.

// retryOf returns the upgrade that retries t. Nil: there is none.
func (q queue) retryOf(t *target) *target {
	for _, other := range q.targets {
		if other.Spec.RetryOf == t.Name && other.Name != t.Name {
			return other
		}
	}
	return nil
}

// failedForGood returns how t ends, if a node failed in it and another upgrade retries
// it.
func (p *planner) failedForGood(t *target) (outcome v1alpha1.Outcome, hold fleet.Hold) {
	next := p.queue.retryOf(t)
	if next == nil || p.firstFailed == nil || t.Status.TriggerTime == nil {
		return "", fleet.Hold{}
	}
	outcome = v1alpha1.OutcomeFailed
	if p.firstFailed.status.Step == v1alpha1.StepRolledBack {
		outcome = v1alpha1.OutcomeRolledBack
	}
	hold = failure(p.firstFailed)
	hold.Message = fmt.Sprintf("%s; upgrade %s takes its place", hold.Message, next.Name)
	return outcome, hold
}

// placeOf returns the upgrade whose place in the queue u has: the oldest that it
// retries, directly or not, else u itself.
func placeOf(u *v1alpha1.ClusterUpgrade, all []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	place := u
	for range all {
		before := upgradeNamed(all, u.Spec.RetryOf)
		if before == nil || before == u {
			break
		}
		u = before
		if u.CreationTimestamp.Before(&place.CreationTimestamp) {
			place = u
		}
	}
	return place
}

func upgradeNamed(all []v1alpha1.ClusterUpgrade, name string) *v1alpha1.ClusterUpgrade {
	for i := range all {
		if name != "" && all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
