package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// A node that failed keeps its slot, and the upgrade it failed in stays the
// active one: nobody starts after it until somebody has decided. To ask for the
// upgrade again, by another ClusterUpgrade that says whose place it takes, is
// such a decision: the failed one ends, the other comes next, and what failed
// gives way and begins anew. One that merely waited in the queue decides nothing.

// successor is the upgrade that takes the place of u, or nil.
func (d *decider) successor(u *v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	for _, other := range d.queue {
		if other.Spec.RetryOf == u.Name && other.Name != u.Name {
			return other
		}
	}
	return nil
}

// giveUp ends an upgrade in which a node failed and which another one replaces,
// and says whether it did.
func (d *decider) giveUp(u *v1alpha1.ClusterUpgrade) bool {
	next := d.successor(u)
	if next == nil || d.failed == nil || u.Status.TriggerTime == nil {
		return false
	}
	outcome := v1alpha1.OutcomeFailed
	if d.failed.status.Step == v1alpha1.StepRolledBack {
		outcome = v1alpha1.OutcomeRolledBack
	}
	hold := d.failedStory()
	hold.Message = fmt.Sprintf("%s; upgrade %s takes its place", hold.Message, next.Name)
	d.end(u, outcome, hold)
	return true
}

// end writes down how the upgrade ended, and how each node went.
func (d *decider) end(u *v1alpha1.ClusterUpgrade, outcome v1alpha1.Outcome, hold fleet.Hold) {
	u.Status.CompletionTime, u.Status.Outcome = wholeSecond(d.now), outcome
	succeeded := outcome == v1alpha1.OutcomeSucceeded
	d.conditions(u, truth(succeeded), hold, !succeeded)
	d.ended = d.records(u)
	if succeeded && u.Spec.Version != "" && u.Spec.NodeSelector == nil {
		reference := u.Reference()
		d.reached = &v1alpha1.UpgradePolicyStatus{Version: u.Spec.Version, Upgrade: &reference, Images: u.Status.Images}
	}
}

// givesWay is a node that failed in another upgrade than the one that is wanted
// of it now. Its agent brings it back into service, and then it goes like any
// other.
func (d *decider) givesWay(n *node) bool {
	return n.failed() && d.target != nil && n.status.Upgrade != nil && !isFor(n.status.Upgrade, d.target)
}

// wayHold keeps everybody back until such a node is back in service.
func (d *decider) wayHold() fleet.Hold {
	n := d.leaving
	if n == nil {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("node %s gives up upgrade %s first, in which it failed; if it never comes back: `kubectl upgrade abandon %s`", n.Name, n.status.Upgrade.Name, n.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
}

// place is the moment at which an upgrade joined the queue: that of the one whose
// place it takes, if it takes one.
func place(u *v1alpha1.ClusterUpgrade, all []v1alpha1.ClusterUpgrade) metav1.Time {
	joined := u.CreationTimestamp
	for range all {
		before := named(all, u.Spec.RetryOf)
		if before == nil || before == u {
			break
		}
		u = before
		if u.CreationTimestamp.Before(&joined) {
			joined = u.CreationTimestamp
		}
	}
	return joined
}

func named(all []v1alpha1.ClusterUpgrade, name string) *v1alpha1.ClusterUpgrade {
	for i := range all {
		if name != "" && all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
