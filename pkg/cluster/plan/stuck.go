package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// Some nodes cannot be upgraded before a person acts: they are dead, no agent answers on
// them, their image cannot be staged, or their own agents do not let them begin. An upgrade
// that has only such nodes left yields to the next one in the queue. They come along with that.

// stuckAfter is how long a node may be NotReady, or its agent not answer, before it counts as
// stuck. Machines that reboot take that long.
const stuckAfter = minRebootTimeout

// hasLasted reports whether a state has lasted for stuckAfter. One whose begin is not known
// has.
func hasLasted(since *time.Time, now time.Time) bool {
	return since == nil || now.Sub(*since) >= stuckAfter
}

// stuckAt returns when the node counts as stuck if nothing changes. Nil: that is not known.
func (n *node) stuckAt() *time.Time {
	since := n.NotReadySince
	if n.Ready {
		since = n.agentSilentSince()
	}
	if since == nil || n.busy() && (!n.Ready || n.AgentProblem == "") {
		return nil
	}
	at := since.Add(stuckAfter)
	return &at
}

// isDead reports whether the node has not been Ready for a while, or no agent has answered on it.
func (n *node) isDead(now time.Time) bool {
	switch {
	case n.busy():
		return false
	case !n.Ready:
		return hasLasted(n.NotReadySince, now)
	}
	return n.agentSilent(now) != "" && hasLasted(n.agentSilentSince(), now)
}

// isStuck reports whether the node cannot be upgraded before a person acts.
func (t *target) isStuck(n *node, now time.Time) bool {
	if n.busy() || !n.Ready || n.isDead(now) {
		return n.isDead(now)
	}
	return t.skew(n) != nil || n.lacksLabel() && !t.reboot || n.cannotStage() && !t.staged(n) && t.isCauseFor(n) || t.isKept(n)
}

// isCauseFor reports whether the reason why the node cannot stage is one for this upgrade,
// too. A cause that is about the image is only that of the upgrade for which it was reported.
func (t *target) isCauseFor(n *node) bool {
	return !n.cause.Reason.Info().AboutImage || t.isFor(n.status.Upgrade)
}

// remaining returns the nodes that the upgrade still has to upgrade, and that are not left
// for those which go first: control planes in pass 1, then control-plane nodes.
func (t *target) remaining(r *reading) []*node {
	var all, nodes, components []*node
	for _, n := range r.nodes {
		if !t.concerns(n) || t.upToDate(n) {
			continue
		}
		all = append(all, n)
		if t.passes(n) {
			continue
		}
		if n.ControlPlane && !t.kubeadmDone(n) {
			components = append(components, n)
		}
		if n.ControlPlane && !rules.Label(n.Labels).Holds() && !t.requestHold(n, r.now).Holds() {
			nodes = append(nodes, n)
		}
	}
	switch {
	case t.clusterAPIDecides:
		return all // Cluster API decides which go first
	case len(components) > 0:
		return components
	case len(nodes) > 0:
		return nodes
	}
	return all
}

// isHeldUp reports whether nodes that are stuck hold up all others: dead ones use the budget
// up, or nothing has begun and a node cannot stage its image.
func (t *target) isHeldUp(r *reading, begun bool, leftBehind map[string]bool) bool {
	total, dead, cannotStage := 0, 0, false
	for _, n := range r.nodes {
		if !t.concerns(n) {
			continue
		}
		total++
		switch stuck := t.isStuck(n, r.now); {
		case stuck && !n.Ready:
			dead++
		case stuck && !leftBehind[n.Name] && !t.upToDate(n) && !t.staged(n):
			cannotStage = true
		}
	}
	if t.certificates { // it spends no budget
		return false
	}
	return !begun && cannotStage && !t.back || dead > 0 && dead >= scaled(t.strategy.MaxUnavailable, total)
}

// leaveBehind marks the workers that the upgrade leaves to the next one, which then does not
// wait for their images: all others have been upgraded.
func (q queue) leaveBehind(t *target, r *reading) {
	var left []*node
	done := false
	for _, n := range r.nodes {
		switch {
		case !t.concerns(n):
		case t.upToDate(n):
			done = true
		case n.ControlPlane || !t.isStuck(n, r.now):
			return
		default:
			left = append(left, n)
		}
	}
	for _, n := range left {
		q.leftBehind[n.Name] = done
	}
}

// markYielded marks as stuck the upgrades that have yielded to the one that nodes are planned for: an upgrade of
// the queue, or late. They stay stuck until that one has ended, people hold it, or it is a Reboot that is
// stuck, or one in which Cluster API asks for no node. A node forgets why it cannot stage an image when it
// is planned for another upgrade, so they seem to be able to proceed, and each change of the upgrade has
// every node stage another image.
func (q queue) markYielded(stuck []bool, late *target, r *reading, wake *wakeTime) {
	i := slices.IndexFunc(q.targets, func(t *target) bool { return t.assigned(r) })
	switch {
	case i < 0:
		if !late.assigned(r) || !late.hasWork(r) || q.cannotProceed(late, r, wake) {
			return
		}
	case q.targets[i].peopleHold(r.now).Holds(), q.targets[i].triggered(r).hold.Holds(), (q.targets[i].versionless() || q.targets[i].clusterAPIDecides) && stuck[i]:
		return
	}
	for j, t := range q.targets {
		stuck[j] = stuck[j] || t.yielded(r)
	}
}

// yielded reports whether the upgrade was active before, and waits in the queue, or is stalled, by its status
// and by what nodes are planned for.
func (t *target) yielded(r *reading) bool {
	waits := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionSucceeded)
	queued := waits != nil && waits.Reason == string(v1alpha1.ReasonQueued)
	return t.Status.TriggerTime != nil && !t.assigned(r) && (queued || meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionStalled))
}

// agentSilent returns why no agent answers on the node; empty: one does, or that is not
// known. An order that was withdrawn is not given again before the agent has answered.
func (n *node) agentSilent(now time.Time) string {
	at := n.orderedAt()
	withdrawn := !n.answered && n.admission != nil && n.admission.Reason == string(v1alpha1.ReasonAgentNotAnswering)
	switch {
	case n.AgentProblem != "":
		return n.AgentProblem
	case at != nil && hasLasted(at, now), withdrawn:
		return "its agent has not taken up the order that the coordinator gave it"
	}
	return ""
}

// agentSilentSince returns since when no agent answers on the node. Nil: that is not known.
func (n *node) agentSilentSince() *time.Time {
	if n.AgentProblem != "" {
		return n.AgentProblemSince
	}
	return n.orderedAt()
}

// agentGone reports whether no agent has run for a while on a Ready node that has begun, so that
// nothing continues or ends its attempt. Failed and abandoned nodes are told as such.
func (n *node) agentGone(now time.Time) bool {
	return n.busy() && !n.locks() && n.Ready && !n.failed() && n.abandoned == nil &&
		n.AgentProblem != "" && hasLasted(n.AgentProblemSince, now)
}

// orderedAt returns when the node was released, if its agent has not taken that up: after the
// coordinator wrote so, and after the agent's last step, as the next pass may follow at once.
// Nil: there is no such order.
func (n *node) orderedAt() *time.Time {
	if n.answered || n.busy() || !n.released() || n.admission == nil || n.admission.Status != metav1.ConditionTrue {
		return nil
	}
	at := n.admission.LastTransitionTime.Time
	if last := n.status.StepStartTime; last != nil && last.After(at) {
		at = last.Time
	}
	return &at
}

// A node that failed keeps its slot, and its upgrade stays active: no other node starts
// until a person decides. To retry the upgrade, with another ClusterUpgrade whose
// retryOf names it, is such a decision: the failed one ends, the other becomes active,
// and the failed node starts again. An upgrade that only waits in the queue changes
// nothing.

// retryOf returns the upgrade that retries t, or takes it back. Nil: there is none.
func (q queue) retryOf(t *target) *target {
	for _, other := range q.targets {
		if other.Name != t.Name && (other.Spec.Retries(t.ClusterUpgrade) || t.takenBackBy != nil && t.takenBackBy.UID == other.UID) {
			return other
		}
	}
	return nil
}

// failedForGood returns how t ends, if a node or a hook failed in it and another upgrade
// retries it.
func (p *planner) failedForGood(t *target) (outcome v1alpha1.Outcome, hold clusterstate.Hold) {
	next := p.queue.retryOf(t)
	if next == nil || t.Status.TriggerTime == nil {
		return "", clusterstate.Hold{}
	}
	outcome = v1alpha1.OutcomeFailed
	switch failed := p.survey.firstFailed; {
	case failed != nil:
		if hold = failure(failed); failed.status.Step == v1alpha1.StepRolledBack {
			outcome = v1alpha1.OutcomeRolledBack
		}
		if failed.isAtFault() {
			hold.Reason = v1alpha1.ReasonNodeAtFault
		}
	case p.turns.retried:
		hold = clusterstate.Hold{Reason: v1alpha1.ReasonHookFailed, Message: "a hook failed"}
	default:
		return "", clusterstate.Hold{}
	}
	hold.Message = fmt.Sprintf("%s; upgrade %s takes its place", hold.Message, next.Name)
	return outcome, hold
}

// placeOf returns the upgrade whose place in the queue u has: the oldest that it
// retries, directly or not, else u itself.
func placeOf(u *v1alpha1.ClusterUpgrade, all []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	place := u
	for range all {
		i := slices.IndexFunc(all, func(other v1alpha1.ClusterUpgrade) bool { return u.Spec.Retries(&other) })
		if i < 0 || &all[i] == u {
			break
		}
		u = &all[i]
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
