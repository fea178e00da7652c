package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// choose puts the active upgrade in front: the first that can begin or continue, or
// else the first.
//
// The upgrade that a node is being upgraded for stays in front. So does one to a version that
// nodes are planned for, so that the cluster is not left between two versions. An upgrade to a
// version goes before a Reboot, so that one reboot serves both.
func (q *queue) choose(r *reading, wake *wakeTime) {
	current := r.inProgress()
	if i := slices.IndexFunc(q.targets, func(t *target) bool { return t.isFor(current) }); i >= 0 {
		q.toFront(i)
		return
	}
	stuck := make([]bool, len(q.targets))
	for i, t := range q.targets {
		if stuck[i] = t.cannotProceed(r, wake); stuck[i] && !t.reboot {
			t.leaveBehind(r)
		}
	}
	stuck = yielded(q.targets, stuck, r)
	q.noneCanProceed = !slices.Contains(stuck, false)
	first := -1
	for i, t := range q.targets {
		if (q.noneCanProceed || !stuck[i]) && (first < 0 || t.rank(r) < q.targets[first].rank(r)) {
			first = i
		}
	}
	if first >= 0 {
		q.toFront(first)
	}
}

// rank returns the priority of an upgrade that can begin or continue: the lowest goes
// first; equal ones keep their order.
func (t *target) rank(r *reading) int {
	switch {
	case t.reboot:
		return 2
	case t.assigned(r):
		return 0
	}
	return 1
}

func (q *queue) toFront(i int) {
	t := q.targets[i]
	q.targets = slices.Insert(slices.Delete(q.targets, i, i+1), 0, t)
}

// inProgress returns the upgrade that a node is being upgraded for, or released for.
func (r *reading) inProgress() *v1alpha1.UpgradeReference {
	for _, n := range r.nodes {
		if n.busy() || n.released() {
			return n.spec.Upgrade
		}
	}
	return nil
}

// assigned reports whether the spec of a NodeUpgrade is for the upgrade.
func (t *target) assigned(r *reading) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool { return t.isFor(n.spec.Upgrade) })
}

// begun reports whether a node has begun with the upgrade.
func (t *target) begun(r *reading) bool {
	return slices.ContainsFunc(r.nodes, func(n *node) bool {
		kubeadm := !t.reboot && n.ControlPlane && t.kubeadmDone(n)
		return t.isFor(n.status.Upgrade) && (kubeadm || n.status.Retry.Attempts > 0 || t.rebooted(n))
	})
}

// cannotProceed reports whether the upgrade can neither begin nor continue for now, so
// that others go before it: it cannot be triggered, people hold all of it before it has
// begun, or the remaining nodes may never be upgraded, or not before a person acts.
func (t *target) cannotProceed(r *reading, wake *wakeTime) bool {
	begun := t.begun(r)
	if hold := upgradeHold(t.ClusterUpgrade, r.now); hold.Holds() {
		wake.at(hold.Until)
		return !begun
	}
	trial := t.triggered(r)
	if trial.hold.Holds() {
		return true
	}
	windows := newWindows(trial.ClusterUpgrade, r.Schedules)
	remaining := trial.remaining(r)
	heldUp := trial.isHeldUp(r, begun)
	for _, n := range remaining {
		hold := trial.mayGo(n, windows, r.now)
		wake.at(hold.Until)
		wake.at(n.stuckAt())
		if !heldUp && !never(hold) && !trial.isStuck(n, r.now) && (begun || !hold.Reason.Info().HeldByPeople) {
			return false
		}
	}
	return len(remaining) > 0
}

// mayGo returns the hold that people put on the node now.
func (t *target) mayGo(n *node, w *windows, now time.Time) fleet.Hold {
	if hold := HoldLabelGate(n.Labels); hold.Holds() {
		return hold
	}
	return w.lookup(w.classOf(n.Labels, t.typeFor(n)), now).hold
}

// never reports whether a node with that hold may never be upgraded: it is on hold, or
// no window is known to open for it.
func never(hold fleet.Hold) bool {
	return hold.Reason == v1alpha1.ReasonOnHold || hold.Reason == v1alpha1.ReasonWindowClosed && hold.Until == nil
}
