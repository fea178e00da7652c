package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// turns are the turns of nodes and upgrades at one instant. They are a value: the cluster has them as they were
// read, the allocation changes a copy, and the plan writes that. The zero value has none, as in a prediction.
type turns struct {
	reading *reading
	target  *target // the upgrade that nodes are planned for; nil: there is none
	list    []*v1alpha1.HookTurn
	last    int64                                     // the ID of the turn that began last
	newest  map[clusterstate.Owner]*v1alpha1.HookTurn // of each node
	retried bool                                      // a person has retried a failed hook now
}

// newTurns returns the turns of the policy's status, with what has come of their Jobs.
func newTurns(r *reading, target *target) turns {
	all := turns{reading: r, target: target, newest: map[clusterstate.Owner]*v1alpha1.HookTurn{}}
	if r.snapshot.Policy == nil {
		return all
	}
	all.last = r.snapshot.Policy.Status.LastHookTurn
	for i := range r.snapshot.Policy.Status.HookTurns {
		t := r.snapshot.Policy.Status.HookTurns[i].DeepCopy()
		for i := range t.Hooks {
			r.noteJob(&t.Hooks[i])
		}
		if t.Node == "" && t.Outcome == "" {
			t.Outcome = r.upgradeOutcome(t)
		}
		all.retried = r.retryHooks(t) || all.retried
		all.add(t)
	}
	return all
}

// copied returns a copy that shares no turn with all.
func (all turns) copied() turns {
	own := all
	own.list, own.newest = nil, map[clusterstate.Owner]*v1alpha1.HookTurn{}
	for _, t := range all.list {
		own.add(t.DeepCopy())
	}
	return own
}

func (all *turns) add(t *v1alpha1.HookTurn) {
	all.list = append(all.list, t)
	if t.Node != "" {
		all.newest[clusterstate.Owner{Node: t.Node, UID: t.NodeUID}] = t
	}
}

// of returns the node's turn that has hooks left. Nil: there is none.
func (all turns) of(n *node) *v1alpha1.HookTurn {
	if t := all.newest[n.Owner()]; t != nil && isOpen(t) {
		return t
	}
	return nil
}

// isAfterDeleted reports whether hooks are left of a Node of that name that was deleted. They would take
// away what those of this one set.
func (all turns) isAfterDeleted(n *node) bool {
	return slices.ContainsFunc(all.list, func(t *v1alpha1.HookTurn) bool {
		return t.Node == n.Name && t.NodeUID != n.UID && isOpen(t)
	})
}

// isOpen reports whether hooks of the turn run or are still to run.
func isOpen(t *v1alpha1.HookTurn) bool { return t.Outcome == "" || nextHook(t) != nil }

// running returns the hook of the turn that runs. Nil: none does.
func running(t *v1alpha1.HookTurn) *v1alpha1.HookRun {
	i := slices.IndexFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.State == v1alpha1.HookRunning })
	if i < 0 {
		return nil
	}
	return &t.Hooks[i]
}

// pending returns the first hook of that point that has not begun. Nil: there is none.
func pending(t *v1alpha1.HookTurn, point v1alpha1.HookPoint) *v1alpha1.HookRun {
	i := slices.IndexFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.When == point && run.State == v1alpha1.HookPending })
	if i < 0 {
		return nil
	}
	return &t.Hooks[i]
}

// nextHook returns the hook of the turn that runs, or else the one that is to run next. Nil: there
// is none.
func nextHook(t *v1alpha1.HookTurn) *v1alpha1.HookRun {
	if run := running(t); run != nil {
		return run
	}
	points := []v1alpha1.HookPoint{v1alpha1.BeforeUpgrade, v1alpha1.BeforeNode}
	switch t.Outcome {
	case "":
	case v1alpha1.TurnFailed, v1alpha1.TurnRolledBack:
		points = []v1alpha1.HookPoint{v1alpha1.NodeFailed, v1alpha1.AfterNode, v1alpha1.AfterUpgrade}
	default:
		points = []v1alpha1.HookPoint{v1alpha1.AfterNode, v1alpha1.AfterUpgrade}
	}
	for _, point := range points {
		if run := pending(t, point); run != nil {
			return run
		}
	}
	return nil
}

// hasBegun reports whether a hook of the turn has run, or what it is about has begun.
func hasBegun(t *v1alpha1.HookTurn) bool {
	return t.TookSlot || t.Outcome == v1alpha1.TurnSucceeded ||
		slices.ContainsFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.StartTime != nil })
}

// nodeOf returns the node whose turn it is. Nil: it was deleted.
func (c *cluster) nodeOf(t *v1alpha1.HookTurn) *node {
	for _, n := range c.nodes {
		if n.Name == t.Node && n.UID == t.NodeUID {
			return n
		}
	}
	return nil
}

// reached reports whether the node has what its turn was for. Another upgrade may be active by now, or none.
func (c *cluster) reached(t *v1alpha1.HookTurn, n *node) bool {
	to := parsed(t.Version)
	switch {
	case c.target.isFor(&t.Upgrade) && t.Release == v1alpha1.ReleaseControlPlane:
		return n.kubeadmDone
	case c.target.isFor(&t.Upgrade):
		return n.upToDate
	case t.Version == "" && t.Release == v1alpha1.ReleaseControlPlane: // a renewal of certificates
		renewed := n.status.CertificatesRenewed
		return renewed != nil && renewed.Upgrade.UID == t.Upgrade.UID
	case t.Version == "": // a Reboot
		before := n.status.Reboot.FromBootID
		return n.status.Upgrade != nil && n.status.Upgrade.UID == t.Upgrade.UID && before != "" && n.BootID != before
	case t.Release == v1alpha1.ReleaseControlPlane:
		return atLeast(*n.runs.kubeadm, to)
	case to.Less(parsed(t.From)): // a Rollback
		return atLeast(to, *n.runs.kubelet)
	}
	return atLeast(*n.runs.kubelet, to)
}

// turnOutcome returns how the turn of a node that is no candidate has ended; empty: it has not.
func (c *cluster) turnOutcome(t *v1alpha1.HookTurn, n *node) v1alpha1.HookOutcome {
	switch {
	case n == nil:
		return v1alpha1.TurnDeleted
	case n.abandoned != nil:
		return v1alpha1.TurnAbandoned
	case n.failed() && n.status.Step == v1alpha1.StepRolledBack:
		return v1alpha1.TurnRolledBack
	case n.failed():
		return v1alpha1.TurnFailed
	case n.open || n.busy() || n.released() || n.silent(): // its NodeUpgrade and Lease may have been deleted while it works
		return ""
	case c.reached(t, n):
		return v1alpha1.TurnSucceeded
	}
	return v1alpha1.TurnAborted
}

// upgradeOutcome returns how the upgrade of a turn has ended; empty: it has not.
func (r *reading) upgradeOutcome(t *v1alpha1.HookTurn) v1alpha1.HookOutcome {
	for i := range r.snapshot.Upgrades {
		if u := &r.snapshot.Upgrades[i]; string(u.UID) == t.Upgrade.UID {
			return v1alpha1.HookOutcome(u.Status.Outcome)
		}
	}
	return v1alpha1.TurnDeleted
}

// hooksLeft returns the hold of an upgrade whose nodes have hooks that run, or that are to run. Without an
// upgrade: of any.
func (all turns) hooksLeft(target *target) clusterstate.Hold {
	for _, t := range all.list {
		if t.Node == "" || target != nil && !target.isFor(&t.Upgrade) {
			continue
		}
		if next := nextHook(t); next != nil {
			return runningHold(t, next, all.reading.now)
		}
	}
	return clusterstate.Hold{}
}

// turnsEnded reports whether every node's turn of the upgrade has ended, and no failed hook holds
// nodes.
func (all turns) turnsEnded(target *target) bool {
	return !all.failedHold().Holds() && !slices.ContainsFunc(all.list, func(t *v1alpha1.HookTurn) bool {
		return t.Node != "" && target.isFor(&t.Upgrade) && isOpen(t)
	})
}

// anyRuns reports whether a hook runs, whose Job is to be waited for.
func (all turns) anyRuns() bool {
	return slices.ContainsFunc(all.list, func(t *v1alpha1.HookTurn) bool { return running(t) != nil })
}

// wake adds when Jobs are overdue.
func (all turns) wake(wake *wakeTime) {
	for _, t := range all.list {
		if run := running(t); run != nil {
			overdue := run.Deadline().Add(overdueAfter)
			wake.at(&overdue)
		}
	}
}

// stored returns the turns to write: those that have ended are dropped, but for failed hooks that hold
// nodes, and for those that were not used.
func (all turns) stored() []v1alpha1.HookTurn {
	var list []v1alpha1.HookTurn
	unused := all.unused()
	for _, t := range all.list {
		if isOpen(t) || all.failed(t) != nil || slices.Contains(unused, t) {
			list = append(list, *t)
		}
	}
	return list
}

// holds reports whether a failed hook holds nodes: as long as the policy has it, and it says so.
func (all turns) holds(run *v1alpha1.HookRun) bool {
	hook := all.reading.snapshot.Policy.Hook(run.Name)
	return run.State == v1alpha1.HookFailed && hook != nil && hook.FailurePolicy != v1alpha1.HookContinue
}

// failed returns the first failed hook of the turn that holds nodes. Nil: there is none.
func (all turns) failed(t *v1alpha1.HookTurn) *v1alpha1.HookRun {
	for i := range t.Hooks {
		if all.holds(&t.Hooks[i]) {
			return &t.Hooks[i]
		}
	}
	return nil
}
