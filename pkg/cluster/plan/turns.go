package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// idleTurn is how long a node whose hooks have run may be kept from beginning by something else.
// Then its turn ends, and later it gets another one.
const idleTurn = time.Minute

// around returns the hold of a candidate with its hooks taken into account: it has that hold without
// them. It begins the turn of a node that would be released now, and ends one that cannot be used.
func (a *allocation) around(n *node, hold fleet.Hold) fleet.Hold {
	h := a.cluster.hooks
	if h == nil {
		return hold
	}
	if t := h.of(n); t != nil && t.Outcome == "" && a.isUsed(t, n, hold) {
		switch mayBegin := n.released() || n.silent() || n.lease != nil && !n.answered; {
		case mayBegin && hold.Holds():
			return hold
		case mayBegin:
			return fleet.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "the hooks after its turn run before its next one"}
		}
		if t.Outcome = v1alpha1.TurnAborted; a.cluster.reached(t, n) {
			t.Outcome = v1alpha1.TurnSucceeded
		}
		a.endUnused(t, n, hold)
	}
	if hold.Holds() {
		return hold
	}
	t := h.of(n)
	if t == nil {
		if h.isAfterDeleted(n) {
			return fleet.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "the hooks after the deleted Node of that name run before its own"}
		}
		if len(h.turns)+2 > maxTurns { // the upgrade's turn may begin, too
			return fleet.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "hooks of too many nodes have not ended"}
		}
		if hold = a.beforeUpgrade(); hold.Holds() {
			return hold
		}
		if t = h.begin(a.cluster.target, n, a.survey.releaseNow()); t == nil {
			return fleet.Hold{}
		}
	}
	if t.Outcome != "" {
		return runningHold(t, nextHook(t), h.reading.now)
	}
	return a.runBefore(t)
}

// isAfterDeleted reports whether hooks are left of a Node of that name that was deleted. They would take
// away what those of this one set.
func (h *hooks) isAfterDeleted(n *node) bool {
	return slices.ContainsFunc(h.turns, func(t *v1alpha1.HookTurn) bool {
		return t.Node == n.Name && t.NodeUID != n.UID && isOpen(t)
	})
}

// isUsed reports whether a candidate needs another turn: it has begun in this one, one of its hooks
// failed, or something else has kept it from beginning for a while.
func (a *allocation) isUsed(t *v1alpha1.HookTurn, n *node, hold fleet.Hold) bool {
	h := a.cluster.hooks
	switch {
	case !a.cluster.target.isFor(&t.Upgrade), t.TookSlot, n.status.Retry.Attempts != t.Attempts, h.failed(t) != nil:
		return true
	case t.Release == v1alpha1.ReleaseControlPlane && !a.survey.pass1:
		return true
	case !hold.Holds() || running(t) != nil:
		return false
	}
	idleSince := t.BeginTime.Time
	for i := range t.Hooks {
		if end := t.Hooks[i].EndTime; end != nil && end.After(idleSince) {
			idleSince = end.Time
		}
	}
	end := idleSince.Add(idleTurn)
	a.wake.at(&end)
	return !a.cluster.now.Before(end)
}

// beforeUpgrade returns the hold of the upgrade's own hooks, and begins its turn before its first
// node. The turn of an upgrade before it has to have ended. Late nodes have none.
func (a *allocation) beforeUpgrade() fleet.Hold {
	h, target := a.cluster.hooks, a.cluster.target
	var own *v1alpha1.HookTurn
	for _, t := range h.turns {
		switch {
		case t.Node != "":
		case target.isFor(&t.Upgrade):
			own = t
		case t.Outcome != "":
			if next := nextHook(t); next != nil {
				return runningHold(t, next, h.reading.now)
			}
		}
	}
	switch {
	case own == nil && (a.survey.tookSlot || target.forLateNodes):
		return fleet.Hold{}
	case own == nil:
		if own = h.begin(target, nil, ""); own == nil {
			return fleet.Hold{}
		}
	}
	return a.runBefore(own)
}

// hooksFirst reports whether hooks have to end before anything begins on a node: its own before it, those before
// the upgrade, those after the upgrade before it, and those after a deleted Node of its name.
func (a *allocation) hooksFirst(n *node) bool {
	h, target := a.cluster.hooks, a.cluster.target
	if h == nil {
		return false
	}
	begun := a.survey.tookSlot || target.forLateNodes
	for _, t := range h.turns {
		next := nextHook(t)
		switch {
		case t.Node == n.Name && t.NodeUID != n.UID && isOpen(t):
			return true
		case t.Node == "" && target.isFor(&t.Upgrade):
			if begun = true; next != nil && next.When.IsBefore() {
				return true
			}
		case t.Node == "" && t.Outcome != "" && next != nil:
			return true
		}
	}
	own, list := h.of(n), h.hooksOf(n)
	if own != nil {
		list = own.Hooks
	}
	before := func(run v1alpha1.HookRun) bool { return run.When.IsBefore() && !run.Ended() }
	return slices.ContainsFunc(list, before) || !begun && slices.ContainsFunc(h.hooksOf(nil), before)
}

// runBefore starts the next hook before the node, or the upgrade. It returns the hold until all of
// them have ended.
func (a *allocation) runBefore(t *v1alpha1.HookTurn) fleet.Hold {
	h, next := a.cluster.hooks, nextHook(t)
	if next == nil || !next.When.IsBefore() {
		return fleet.Hold{}
	}
	if next.State == v1alpha1.HookPending {
		h.start(t, next)
	}
	return runningHold(t, next, h.reading.now)
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
		points = []v1alpha1.HookPoint{v1alpha1.OnFailure, v1alpha1.AfterNode, v1alpha1.AfterUpgrade}
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

// endTurns ends the turns of nodes that are no candidates, and of upgrades that have ended, and starts
// the hooks after them.
func (a *allocation) endTurns() {
	h := a.cluster.hooks
	if h == nil {
		return
	}
	for _, t := range h.turns {
		if t.Node == "" {
			continue
		}
		n := a.cluster.nodeOf(t)
		atWork := n != nil && n.busy()
		t.TookSlot = t.TookSlot || atWork
		if t.Outcome == "" {
			t.Outcome = a.cluster.turnOutcome(t, n)
		}
		if !atWork || n.failed() || n.abandoned != nil {
			h.runAfter(t)
		}
	}
	for _, t := range h.turns {
		if t.Node != "" {
			continue
		}
		t.TookSlot = t.TookSlot || a.cluster.target.isFor(&t.Upgrade) && a.survey.tookSlot
		if !slices.ContainsFunc(h.turns, func(other *v1alpha1.HookTurn) bool {
			return other.Node != "" && other.Upgrade == t.Upgrade && isOpen(other)
		}) {
			h.runAfter(t)
		}
	}
}

// runAfter starts the next hook of a turn that has ended, and skips those that are not to run.
func (h *hooks) runAfter(t *v1alpha1.HookTurn) {
	if t.Outcome == "" || running(t) != nil {
		return
	}
	if next := nextHook(t); next != nil && hasBegun(t) {
		h.start(t, next)
		return
	}
	for i := range t.Hooks {
		if t.Hooks[i].State == v1alpha1.HookPending {
			t.Hooks[i].State = v1alpha1.HookSkipped
		}
	}
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

// hookFailed holds every node after a hook has failed, and while the upgrade is being replaced by the
// one that retries it.
func hookFailed(s *survey, _ *node) fleet.Hold {
	h := s.cluster.hooks
	if h != nil && h.retried && !s.cluster.target.forLateNodes {
		return fleet.Hold{Reason: v1alpha1.ReasonHookFailed, Message: "a hook failed, and a person has retried it now"}
	}
	return h.failedHold()
}

// hooksLeft returns the hold of an upgrade whose nodes have hooks that run, or that are to run. Without an
// upgrade: of any.
func (h *hooks) hooksLeft(target *target) fleet.Hold {
	if h == nil {
		return fleet.Hold{}
	}
	for _, t := range h.turns {
		if t.Node == "" || target != nil && !target.isFor(&t.Upgrade) {
			continue
		}
		if next := nextHook(t); next != nil {
			return runningHold(t, next, h.reading.now)
		}
	}
	return fleet.Hold{}
}

// turnsEnded reports whether every node's turn of the upgrade has ended, and no failed hook holds
// nodes.
func (h *hooks) turnsEnded(target *target) bool {
	return h == nil || !h.failedHold().Holds() && !slices.ContainsFunc(h.turns, func(t *v1alpha1.HookTurn) bool {
		return t.Node != "" && target.isFor(&t.Upgrade) && isOpen(t)
	})
}
