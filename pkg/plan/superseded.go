package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// supersedes returns the newer upgrade that brought, or brings, more than t asks for
// to every node that t would still have to do with. Nil: there is none. An upgrade
// that was asked for after the newer one is no such: it asks for a downgrade.
func (r *reading) supersedes(t *target) *v1alpha1.ClusterUpgrade {
	if !known(t.to) {
		return nil
	}
	for i := range r.Upgrades {
		u := &r.Upgrades[i]
		to := parsed(u.Spec.Version)
		if !known(to) || !t.to.Less(to) {
			continue
		}
		if at := r.reachedAt(u); at != nil && !at.Before(&t.CreationTimestamp) && r.covers(u, t) && !t.isFor(r.workedOn()) {
			return u
		}
	}
	return nil
}

// reachedAt returns since when u counts as the one that brings its version: its end,
// if it succeeded, or its trigger, once every apiserver is at the version. Nil: it
// does not.
func (r *reading) reachedAt(u *v1alpha1.ClusterUpgrade) *metav1.Time {
	switch {
	case u.Status.Outcome == v1alpha1.OutcomeSucceeded:
		return u.Status.CompletionTime
	case u.Status.Outcome != "" || u.Status.TriggerTime == nil || u.DeletionTimestamp != nil:
		return nil
	}
	to := parsed(u.Spec.Version)
	older := func(pod fleet.StaticPod) bool { return !atLeast(parsed(pod.Version), to) }
	if len(r.APIServers) == 0 || slices.ContainsFunc(r.APIServers, older) {
		return nil
	}
	return u.Status.TriggerTime
}

// covers reports whether u is for every node that t has still to bring to its
// version. Where t was triggered and none is left, it succeeds.
func (r *reading) covers(u *v1alpha1.ClusterUpgrade, t *target) bool {
	selector, err := readSelector(u.Spec.NodeSelector)
	if err != nil {
		return false
	}
	newer := &target{selector: selector}
	left := t.Status.TriggerTime == nil
	for _, n := range r.nodes {
		if !t.concerns(n) || t.upToDate(n) {
			continue
		}
		if !newer.selects(n) {
			return false
		}
		left = true
	}
	return left
}

func (e ended) hold() fleet.Hold {
	message := fmt.Sprintf("upgrade %s brings %s, which is newer", e.newer.Name, e.newer.Spec.Version)
	return fleet.Hold{Reason: v1alpha1.ReasonSuperseded, Message: message}
}
