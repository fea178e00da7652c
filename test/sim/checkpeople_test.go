package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// What people hold does not begin: by suspend, the hold label, an approval that is missing,
// or what the checks found.

// checkSuspension notes when an upgrade is suspended.
func (w *world) checkSuspension(before, after *stored) {
	suspended := func(s *stored) bool { return s != nil && inner(s.tree, "spec")["suspend"] == true }
	if suspended(after) && !suspended(before) {
		w.since["suspend "+text(metadata(after.tree), "uid")] = w.now()
	}
}

// checkSuspended checks that no node acts for an upgrade that was suspended before the agent's
// reconcile began.
func (w *world) checkSuspended(a *agentProgram, what string) {
	u := w.upgradeOf(a)
	if u != nil && u.Spec.Suspend && w.since["suspend "+string(u.UID)].Before(a.ranAt) {
		w.broken("suspend", "%s %s, and upgrade %s is suspended", a.node.name, what, u.Name)
	}
}

// checkNotStarted checks that no node acts for an upgrade before its start time, but for what a node's clock
// may be wrong by.
func (w *world) checkNotStarted(a *agentProgram, what string) {
	u := w.upgradeOf(a)
	if u != nil && u.Spec.StartTime != nil && w.now().Add(max(0, a.node.clockError())).Before(u.Spec.StartTime.Time) {
		w.broken("start", "%s %s, and upgrade %s starts %s", a.node.name, what, u.Name, u.Spec.StartTime)
	}
}

// checkHeld checks that a node does not begin which was put on hold before the agent's
// reconcile began.
func (w *world) checkHeld(a *agentProgram, what string) {
	n := a.node
	object := get[*corev1.Node](w.api, key{Resource: "nodes", Name: n.name})
	if object == nil {
		return
	}
	if _, held := object.Labels[v1alpha1.HoldLabel]; held && w.since["hold "+n.uid].Before(a.ranAt) {
		w.broken("hold", "%s %s, and is on hold", n.name, what)
	}
}

// checkTakes checks a node that has just taken its slot: that is when an attempt begins.
func (w *world) checkTakes(a *agentProgram) {
	if a == nil {
		return
	}
	n := a.node
	w.checkHeld(a, "takes a slot")
	w.checkSuspended(a, "takes a slot")
	w.checkPolicy(a, "takes a slot")
	w.checkClock(a, "takes a slot")
	w.checkGates(a)
	w.checkSoaked(a)
	w.checkHooks(a)
	if !w.renewals[a.steps.State().Upgrade.UID] { // nothing boots
		w.checkRehearsed(a)
	}
	u := w.upgradeOf(a)
	if u != nil && u.Status.Outcome != "" && n.controlPlane && rules.TypeOf(u) != v1alpha1.TypeRollback { // kubelets only
		w.broken("late", "%s takes a slot for upgrade %s, which has ended, and is a control plane", n.name, u.Name)
	}
	// An upgrade that the coordinator created has the policy's strategy, which asks for none.
	if u != nil && u.Status.Outcome == "" && u.Spec.Strategy.Approval == v1alpha1.ApprovalRequired {
		if !u.Spec.Approved.Upgrade {
			w.broken("approval", "%s takes a slot, and upgrade %s is not approved", n.name, u.Name)
		}
		if g := w.group(n); g != "" && !slices.Contains(u.Spec.Approved.Groups, g) {
			w.broken("approval", "%s takes a slot, and its group is not approved", n.name)
		}
	}
	w.checkGroupLimit(n)
	w.checkOneUpgrade(a)
	if n.unmanaged && w.decidedSince(w.since["unmanaged "+n.uid], a) {
		w.broken("managed", "%s takes a slot, and is not managed any more", n.name)
	}
	if since := w.since["observe"]; w.observes() && w.decidedSince(since, a) {
		w.broken("managed", "%s takes a slot, and nodes are only observed", n.name)
	}
	w.checkFailedBefore(a)
	w.checkTaken(a)
}

// checkOneUpgrade checks that a node does not begin while another one works for another upgrade,
// unless that was deleted. An upgrade does not wait for a node that the policy selects no more.
func (w *world) checkOneUpgrade(a *agentProgram) {
	for _, other := range w.nodes {
		nu := w.nodeUpgrade(other.name)
		if other == a.node || other.removed || nu == nil || !nu.Spec.Managed || nu.Abandoned != nil || nu.Status.Upgrade == nil || w.held(other) == "" {
			continue
		}
		if !slices.ContainsFunc(w.upgrades(), func(u *v1alpha1.ClusterUpgrade) bool { return string(u.UID) == nu.Status.Upgrade.UID }) {
			continue
		}
		phase := nu.Status.Step.Info().Phase
		if mine := a.steps.State().Upgrade; nu.Status.Upgrade.UID != mine.UID && (phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted) {
			w.broken("queue", "%s begins upgrade %s, and %s is in step %s of upgrade %s", a.node.name, mine.Name, other.name, nu.Status.Step, nu.Status.Upgrade.Name)
		}
	}
}

// checkGroupLimit checks that a group's own limit is kept.
func (w *world) checkGroupLimit(n *node) {
	limit, out := w.script.GroupLimit, 1
	if w.group(n) == "" || limit == 0 {
		return
	}
	for _, other := range w.nodes {
		slot := w.held(other)
		took := slot != "" && w.edited[slot].names != other.owner() // else a person gave it to the node
		if other != n && !other.removed && w.group(other) == w.group(n) && !w.givenUp(other) && (w.outOfService(other) || took) {
			out++
		}
	}
	if out > limit {
		w.broken("promise 1", "%s takes a slot as number %d of its group, whose limit is %d", n.name, out, limit)
	}
}

// checked is one run of the checks.
type checked struct {
	at     time.Time
	by     *coordinatorProgram
	blocks bool
}

// check is what preflight finds: what the script says, and that the version is blocked.
func (w *world) check(by *coordinatorProgram, f preflight.Facts) []v1alpha1.Finding {
	found := w.findings
	if f.Blocked != nil && !f.Upgrade.Spec.Ignores(preflight.VersionBlocked) {
		found = append(slices.Clone(found), v1alpha1.Finding{ID: preflight.VersionBlocked, Level: v1alpha1.LevelBlock, Message: f.Blocked.Comment})
	}
	w.checks = append(w.checks, checked{w.now(), by, len(found) > 0})
	return found
}

// reportFresh is how long a report of the checks may be used.
const reportFresh = 10*time.Minute + 10*time.Second

// checkReport checks that a coordinator releases a node on a fresh report that does not block.
func (w *world) checkReport(by, name string) {
	if len(w.checks) == 0 {
		w.broken("findings", "%s releases %s, and no checks were made", by, name)
		return
	}
	last := w.checks[len(w.checks)-1]
	if last.by.name == by && !last.by.isDead && last.blocks {
		w.broken("findings", "%s releases %s, and the checks block", by, name)
	}
	if age := w.now().Sub(last.at); age > reportFresh {
		w.broken("findings", "%s releases %s on a report that is %s old", by, name, age)
	}
}

// decidedSince reports whether a coordinator that knew everything at t has made a plan since,
// before the agent's reconcile began, and none whose watches were behind.
func (w *world) decidedSince(t time.Time, a *agentProgram) bool {
	return t.Before(w.decidedAt) && w.decidedAt.Before(a.ranAt)
}

// sees reports whether the coordinator's watches have delivered everything.
func (p *program) sees() bool {
	return !slices.ContainsFunc(p.views, func(v *view) bool { return v.behind() || len(v.missing) > 0 })
}

// checkFailedBefore checks promise 6 when a node takes its slot: the coordinators knew of the
// nodes that had failed, and should have taken back the release.
func (w *world) checkFailedBefore(a *agentProgram) {
	failed, names := 0, []string{}
	for _, other := range w.nodes {
		nu := w.nodeUpgrade(other.name)
		if other == a.node || other.removed || nu == nil || nu.Abandoned != nil || nu.Status.Upgrade == nil || nu.Status.Upgrade.UID != a.steps.State().Upgrade.UID {
			continue
		}
		if nu.Status.Step.Info().Phase == v1alpha1.PhaseStopped && w.decidedSince(w.since["failed "+other.uid], a) {
			failed, names = failed+1, append(names, other.name)
			if other.controlPlane {
				failed += 1000
			}
		}
	}
	if failed > w.script.MaxFailures {
		w.broken("promise 6", "%s takes a slot, and %v had failed before", a.node.name, names)
	}
}
