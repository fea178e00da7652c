package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// supersedes returns the newer upgrade that brings a later version to every node that t
// still has to upgrade. Nil: there is none. An upgrade that was created after the newer
// one took effect is not superseded: it asks for a downgrade.
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
		if at := r.reachedAt(u); at != nil && !at.Before(&t.CreationTimestamp) && r.covers(u, t) && !t.isFor(r.inProgress()) {
			return u
		}
	}
	return nil
}

// reachedAt returns when u took effect: its completion, if it succeeded, or its
// trigger, once every apiserver is at the version. Nil: it has not.
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

// covers reports whether u selects every node that t still has to upgrade. If t was
// triggered and no node is left, it is false: t succeeds.
func (r *reading) covers(u *v1alpha1.ClusterUpgrade, t *target) bool {
	selector, err := readSelector(u.Spec.NodeSelector)
	if err != nil {
		return false
	}
	newer := &target{selector: selector}
	remaining := t.Status.TriggerTime == nil
	for _, n := range r.nodes {
		if !t.concerns(n) || t.upToDate(n) {
			continue
		}
		if !newer.selects(n) {
			return false
		}
		remaining = true
	}
	return remaining
}

func (e ended) hold() fleet.Hold {
	message := fmt.Sprintf("upgrade %s brings %s, which is newer", e.newer.Name, e.newer.Spec.Version)
	return fleet.Hold{Reason: v1alpha1.ReasonSuperseded, Message: message}
}
