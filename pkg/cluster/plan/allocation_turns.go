package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// The allocation gives nodes their turns: it begins and ends turns, and starts the hooks around nodes. Nothing
// else changes a turn once it was read.

// idleTurn is how long a node whose hooks have run may be kept from beginning by something else.
// Then its turn ends, and later it gets another one.
const idleTurn = time.Minute

// How many turns, and runs of hooks in them, there may be at a time. All of them fit into an object of etcd, with the
// longest texts (test/api, TestLargestStateIsStored).
const (
	maxTurns    = 128
	maxHookRuns = 512
)

// around returns the hold of a candidate with its hooks taken into account: it has that hold without
// them. It begins the turn of a node that would be released now, and ends one that cannot be used.
func (a *allocation) around(n *node, hold clusterstate.Hold) clusterstate.Hold {
	if t := a.turns.of(n); t != nil && t.Outcome == "" && a.isUsed(t, n, hold) {
		switch mayBegin := n.released() || n.silent() || n.lease != nil && !n.answered; {
		case mayBegin && hold.Holds():
			return hold
		case mayBegin:
			return clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "the hooks after its turn run before its next one"}
		}
		if t.Outcome = v1alpha1.TurnAborted; a.cluster.reached(t, n) {
			t.Outcome = v1alpha1.TurnSucceeded
		}
		a.endUnused(t, n, hold)
	}
	if hold.Holds() {
		return hold
	}
	t := a.turns.of(n)
	if t == nil {
		if a.turns.isAfterDeleted(n) {
			return clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "the hooks after the deleted Node of that name run before its own"}
		}
		if a.turnsFull(n) {
			return clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "hooks of too many nodes have not ended"}
		}
		if hold = a.beforeUpgrade(); hold.Holds() {
			return hold
		}
		if t = a.beginTurn(n, a.survey.releaseNow()); t == nil {
			return clusterstate.Hold{}
		}
	}
	if t.Outcome != "" {
		return runningHold(t, nextHook(t), a.cluster.now)
	}
	return a.runBefore(t)
}

// turnsFull reports whether a turn of the node would be one too many. The upgrade's turn may begin, too.
func (a *allocation) turnsFull(n *node) bool {
	runs := len(a.cluster.reading.hooksOf(n)) + len(a.cluster.reading.hooksOf(nil))
	for _, t := range a.turns.list {
		runs += len(t.Hooks)
	}
	return len(a.turns.list)+2 > maxTurns || runs > maxHookRuns
}

// isUsed reports whether a candidate needs another turn: it has begun in this one, one of its hooks
// failed, or something else has kept it from beginning for a while.
func (a *allocation) isUsed(t *v1alpha1.HookTurn, n *node, hold clusterstate.Hold) bool {
	switch {
	case !a.cluster.target.isFor(&t.Upgrade), t.TookSlot, n.status.Retry.Attempts != t.Attempts, a.turns.failed(t) != nil:
		return true
	case t.Release == v1alpha1.ReleaseControlPlane && !a.survey.pass1:
		return true
	case !hold.Holds() || running(t) != nil:
		return false
	}
	idleSince := t.StartTime.Time
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
func (a *allocation) beforeUpgrade() clusterstate.Hold {
	target := a.cluster.target
	var own *v1alpha1.HookTurn
	for _, t := range a.turns.list {
		switch {
		case t.Node != "":
		case target.isFor(&t.Upgrade):
			own = t
		case t.Outcome != "":
			if next := nextHook(t); next != nil {
				return runningHold(t, next, a.cluster.now)
			}
		}
	}
	switch {
	case own == nil && (a.survey.tookSlot || target.forLateNodes):
		return clusterstate.Hold{}
	case own == nil:
		if own = a.beginTurn(nil, ""); own == nil {
			return clusterstate.Hold{}
		}
	}
	return a.runBefore(own)
}

// hooksFirst reports whether hooks have to end before anything begins on a node: its own before it, those before
// the upgrade, those after the upgrade before it, and those after a deleted Node of its name.
func (a *allocation) hooksFirst(n *node) bool {
	target := a.cluster.target
	begun := a.survey.tookSlot || target.forLateNodes
	for _, t := range a.turns.list {
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
	own, list := a.turns.of(n), a.cluster.reading.hooksOf(n)
	if own != nil {
		list = own.Hooks
	}
	before := func(run v1alpha1.HookRun) bool { return run.When.IsBefore() && !run.Ended() }
	return slices.ContainsFunc(list, before) || !begun && slices.ContainsFunc(a.cluster.reading.hooksOf(nil), before)
}

// runBefore starts the next hook before the node, or the upgrade. It returns the hold until all of
// them have ended.
func (a *allocation) runBefore(t *v1alpha1.HookTurn) clusterstate.Hold {
	next := nextHook(t)
	if next == nil || !next.When.IsBefore() {
		return clusterstate.Hold{}
	}
	if next.State == v1alpha1.HookPending {
		a.startHook(t, next)
	}
	return runningHold(t, next, a.cluster.now)
}

// beginTurn begins a turn of a node, or of the upgrade without one. Nil: it has no hooks.
func (a *allocation) beginTurn(n *node, release v1alpha1.Release) *v1alpha1.HookTurn {
	r, target := a.cluster.reading, a.cluster.target
	list := r.hooksOf(n)
	if len(list) == 0 {
		return nil
	}
	a.turns.last++
	t := &v1alpha1.HookTurn{
		ID: a.turns.last, Upgrade: target.Reference(), Version: target.Spec.Version, From: target.Status.FromVersion,
		StartTime: *wholeSecond(r.now), Hooks: list,
	}
	if retry := r.newestRetry(); retry != nil {
		for i := range t.Hooks {
			t.Hooks[i].RetriedBy = string(retry.UID)
		}
	}
	if n != nil {
		t.Node, t.NodeUID, t.From, t.Release, t.Attempts = n.Name, n.UID, n.Kubelet, release, n.status.Retry.Attempts
		a.countUnused(t, n)
	}
	// Hooks read it, and a kubelet writes its own: it is a version or nothing.
	if from := parsed(t.From); known(from) {
		t.From = shorten(from.String(), maxHookText)
	} else {
		t.From = ""
	}
	a.turns.add(t)
	return t
}

// startHook notes that the hook runs from now on. Its Job is created once that is stored.
func (a *allocation) startHook(t *v1alpha1.HookTurn, run *v1alpha1.HookRun) {
	run.State, run.StartTime, run.Reason, run.Message = v1alpha1.HookRunning, wholeSecond(a.cluster.now), "", ""
	run.Job = jobName(a.cluster.reading.snapshot.Policy, t, run)
}

// jobName returns a name that no other run of a hook has, now or later.
func jobName(policy *v1alpha1.UpgradePolicy, t *v1alpha1.HookTurn, run *v1alpha1.HookRun) string {
	parts := []string{string(policy.UID), t.Upgrade.UID, t.NodeUID, fmt.Sprint(t.ID), run.Name, fmt.Sprint(run.Attempt)}
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return fmt.Sprintf("%s-%x", run.Name, sum[:6])
}

// endTurns ends the turns of nodes that are no candidates, and of upgrades that have ended, and starts
// the hooks after them.
func (a *allocation) endTurns() {
	for _, t := range a.turns.list {
		if t.Node == "" {
			continue
		}
		n := a.cluster.nodeOf(t)
		atWork := n != nil && n.busy()
		if atWork {
			noteSlot(t)
		}
		if t.Outcome == "" {
			t.Outcome = a.cluster.turnOutcome(t, n)
		}
		if !atWork || n.failed() || n.abandoned != nil {
			a.runAfter(t)
		}
	}
	for _, t := range a.turns.list {
		if t.Node != "" {
			continue
		}
		t.TookSlot = t.TookSlot || a.cluster.target.isFor(&t.Upgrade) && a.survey.tookSlot
		if !slices.ContainsFunc(a.turns.list, func(other *v1alpha1.HookTurn) bool {
			return other.Node != "" && other.Upgrade == t.Upgrade && isOpen(other)
		}) {
			a.runAfter(t)
		}
	}
}

// runAfter starts the next hook of a turn that has ended, and skips those that are not to run.
func (a *allocation) runAfter(t *v1alpha1.HookTurn) {
	if t.Outcome == "" || running(t) != nil {
		return
	}
	if next := nextHook(t); next != nil && hasBegun(t) {
		a.startHook(t, next)
		return
	}
	for i := range t.Hooks {
		if t.Hooks[i].State == v1alpha1.HookPending {
			t.Hooks[i].State = v1alpha1.HookSkipped
		}
	}
}
