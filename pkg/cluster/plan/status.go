package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// addStatuses adds the statuses of upgrades, and the records of those that end now.
func (p *planner) addStatuses(out *Plan) {
	for _, t := range p.queue.targets {
		if t == p.cluster.target {
			p.reportActive(t, out)
			out.status(out.Target)
			continue
		}
		u := p.reported(t)
		p.setConditions(u, metav1.ConditionUnknown, p.queued(t))
		out.status(u)
	}
	for _, e := range p.queue.superseded {
		u := p.reported(e.target)
		p.end(e.target, u, v1alpha1.OutcomeSuperseded, e.hold(), p.cluster.endedFor(e.target, v1alpha1.ReasonSuperseded), out)
		out.status(u)
	}
	p.addCanceled(out)
	p.updateEndedGenerations(out)
}

// reported returns a copy of the target's upgrade, whose status says what the cluster has found.
func (p *planner) reported(t *target) *v1alpha1.ClusterUpgrade {
	u := t.DeepCopy()
	if t == p.cluster.target {
		u.Status.StartTime, u.Status.EtcdSnapshot = p.cluster.startTime, p.cluster.etcdSnapshot
	}
	return u
}

func (out *Plan) status(u *v1alpha1.ClusterUpgrade) {
	u.Status.ObservedGeneration = u.Generation
	out.Statuses = append(out.Statuses, UpgradeStatus{Name: u.Name, UID: string(u.UID), Status: u.Status})
}

// reportActive fills the status of the active upgrade, which is out.Target, and ends it if
// nothing is left to do.
func (p *planner) reportActive(t *target, out *Plan) {
	u := out.Target
	p.count(t, &u.Status)
	p.cluster.checks.noteFindings(u)
	if p.finished(t, u.Status.Nodes) {
		p.end(t, u, v1alpha1.OutcomeSucceeded, p.success(t), p.verdicts, out)
		return
	}
	if outcome, hold := p.failedForGood(t); outcome != "" {
		p.end(t, u, outcome, hold, p.verdicts, out)
		return
	}
	// What the coordinator has created itself leaves no person to mend or delete it.
	invalid := t.isByCoordinator() && t.hold.Reason == v1alpha1.ReasonUpgradeInvalid
	if t.Status.TriggerTime == nil && !p.cluster.reading.policyHold.Holds() && (p.cluster.reading.isDowngrade(t) || invalid) {
		p.end(t, u, v1alpha1.OutcomeFailed, t.hold, p.verdicts, out)
		return
	}
	p.setConditions(u, metav1.ConditionUnknown, p.summary())
}

// finished reports whether every node is up to date and in service, as looked at since the request, every
// apiserver at the version, and every node's hooks have ended.
func (p *planner) finished(t *target, nodes v1alpha1.NodeCounts) bool {
	return t.Status.TriggerTime != nil && p.cluster.total > 0 && p.survey.oldAPIServer == "" &&
		nodes.Done == nodes.Total && p.cluster.unlooked(t) == nil && p.turns.turnsEnded(t)
}

func (p *planner) success(t *target) clusterstate.Hold {
	message := fmt.Sprintf("all %d nodes run %s", p.cluster.total, t.to)
	if p.cluster.total == 1 {
		message = fmt.Sprintf("the node runs %s", t.to)
	}
	switch {
	case t.back:
		message = fmt.Sprintf("no node runs a newer patch than %s any more", t.to)
	case t.certificates:
		message = "every control plane that was selected has new certificates, and its programs use them"
	case t.reboot:
		message = "every node that needed a reboot has had one"
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonUpToDate, Message: message}
}

// end sets the outcome of the upgrade in u, and adds its records, by the verdicts for the nodes, and the version that
// late nodes are brought to from now on, which never falls but by a Rollback.
func (p *planner) end(t *target, u *v1alpha1.ClusterUpgrade, outcome v1alpha1.Outcome, hold clusterstate.Hold, verdicts []verdict, out *Plan) {
	u.Status.EndTime, u.Status.Outcome = wholeSecond(p.cluster.now), outcome
	succeeded := metav1.ConditionFalse
	if outcome == v1alpha1.OutcomeSucceeded {
		succeeded = metav1.ConditionTrue
	}
	hold.Stays = outcome == v1alpha1.OutcomeFailed || outcome == v1alpha1.OutcomeRolledBack
	p.setConditions(u, succeeded, hold)
	out.Records = append(out.Records, p.cluster.records(t, u, verdicts)...)
	if outcome == v1alpha1.OutcomeSucceeded && !t.versionless() && t.Spec.NodeSelector == nil && t.mayFollow(p.cluster.reading.policyVersion()) {
		reference := t.Reference()
		out.Policy = &v1alpha1.RememberedState{Version: t.Spec.Version, Upgrade: &reference, Images: t.Status.Images}
	}
}

// queued returns why an upgrade that is not active waits: for people, for the active one, or,
// while late nodes are upgraded, for what keeps it from its trigger, or for these nodes.
func (p *planner) queued(t *target) clusterstate.Hold {
	if hold := t.peopleHold(p.cluster.now); hold.Holds() {
		return hold
	}
	if p.cluster.target.forLateNodes {
		if hold := t.triggered(p.cluster.reading).hold; hold.Holds() {
			return hold
		}
		if hold := p.summary(); hold.Stalls() {
			return hold
		}
		message := fmt.Sprintf("waits until nodes that joined late have %s", p.cluster.target.to)
		return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: message}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonQueued, Message: fmt.Sprintf("waits for upgrade %s", p.cluster.target.Name)}
}

// updateEndedGenerations updates observedGeneration of ended upgrades whose spec was
// changed since. Such a change has no other effect.
func (p *planner) updateEndedGenerations(out *Plan) {
	for i := range p.cluster.reading.snapshot.Upgrades {
		u := &p.cluster.reading.snapshot.Upgrades[i]
		if u.Status.Outcome == "" || u.DeletionTimestamp != nil || u.Status.ObservedGeneration == u.Generation {
			continue
		}
		u = u.DeepCopy()
		for i := range u.Status.Conditions {
			u.Status.Conditions[i].ObservedGeneration = u.Generation
		}
		out.status(u)
	}
}

// setConditions sets the conditions that kstatus reads. Reconciling and Stalled are
// present only while they are True.
func (p *planner) setConditions(u *v1alpha1.ClusterUpgrade, succeeded metav1.ConditionStatus, hold clusterstate.Hold) {
	set := func(kind string, status metav1.ConditionStatus, wanted bool) {
		if !wanted {
			meta.RemoveStatusCondition(&u.Status.Conditions, kind)
			return
		}
		meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: string(hold.Reason), Message: clip(hold.Message),
			ObservedGeneration: u.Generation, LastTransitionTime: *wholeSecond(p.cluster.now),
		})
	}
	completed := metav1.ConditionFalse
	if succeeded != metav1.ConditionUnknown {
		completed = metav1.ConditionTrue
	}
	set(v1alpha1.ConditionSucceeded, succeeded, true)
	set(v1alpha1.ConditionCompleted, completed, true)
	set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, succeeded == metav1.ConditionUnknown && !hold.Stalls())
	set(v1alpha1.ConditionStalled, metav1.ConditionTrue, hold.Stalls())
}

// wholeSecond returns an instant with the precision of metav1.Time.
func wholeSecond(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

// summary returns what the whole upgrade waits for: what stops it, else which node is
// being upgraded, else the hold of the first node that does not just wait for its turn.
func (p *planner) summary() clusterstate.Hold {
	switch {
	case p.cluster.target.hold.Holds():
		return p.cluster.target.hold
	case p.cluster.total == 0:
		return noNode(p.cluster.reading, p.cluster.target)
	case p.survey.failed != nil:
		return failure(p.survey.failed)
	case p.survey.lost != nil:
		hold := p.survey.lost.lostHold()
		hold.Stays = true
		return hold
	}
	if hold := p.turns.failedHold(); hold.Holds() {
		return hold
	}
	active, blocked, waiting, queued := p.firsts()
	switch {
	case active >= 0 && p.survey.writeFailed != nil:
		return p.survey.writeFailed.cannotWrite()
	case active >= 0:
		return clusterstate.Hold{Reason: v1alpha1.ReasonReleased, Message: p.cluster.activeMessage(p.cluster.nodes[active])}
	case p.turns.hooksLeft(p.cluster.target).Holds():
		return p.turns.hooksLeft(p.cluster.target)
	case blocked >= 0 && p.cluster.nodes[blocked].agentGone(p.cluster.now):
		return p.whyBlocked(blocked)
	case len(p.cluster.checks.blockAll) > 0:
		return p.survey.allBlocked()
	case waiting >= 0:
		return p.whyWaiting(p.verdicts[waiting].hold)
	case blocked >= 0:
		return p.whyBlocked(blocked)
	case queued >= 0 && p.verdicts[queued].hold.Reason == v1alpha1.ReasonNotItsTurn && p.turns.hooksLeft(nil).Holds():
		return p.turns.hooksLeft(nil) // of a former upgrade, which use the budget up
	case queued >= 0:
		return p.verdicts[queued].hold
	}
	if n := p.cluster.unlooked(p.cluster.target); n != nil {
		return p.cluster.unlookedHold(n)
	}
	if !p.turns.turnsEnded(p.cluster.target) {
		return clusterstate.Hold{Reason: v1alpha1.ReasonHookRunning, Message: "the hooks after a node are about to run"}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: p.survey.notEveryAPIServer()}
}

// activeMessage returns what is said of an upgrade whose first active node that is.
func (c *cluster) activeMessage(n *node) string {
	if c.abortsAttempt(n) {
		return fmt.Sprintf("node %s aborts its attempt at upgrade %s first, in which it failed", n.Name, n.status.Upgrade.Name)
	}
	return UpgradedMessage(n.Name)
}

// firsts returns the indices of the first node that is being upgraded, that is blocked,
// that waits for a reason of its own, and that waits for other nodes; -1: there is none.
func (p *planner) firsts() (active, blocked, waiting, queued int) {
	active, blocked, waiting, queued = -1, -1, -1, -1
	first := func(at *int, i int) {
		if *at < 0 {
			*at = i
		}
	}
	for i, n := range p.cluster.nodes {
		v := &p.verdicts[i]
		switch {
		case !n.concerned || v.decision == Done:
		case v.decision == Blocked:
			if blocked >= 0 && p.isMoreUrgent(i, blocked) {
				blocked = i
			}
			first(&blocked, i)
		case v.decision == Go || n.busy() && !n.ownHold(p.cluster.now).Holds():
			first(&active, i)
		case v.hold.Reason.Info().WaitsForOthers:
			first(&queued, i)
		default:
			first(&waiting, i)
		}
	}
	return active, blocked, waiting, queued
}

// isMoreUrgent reports whether a blocked node is told before another one: one that is out of
// service without an agent before all others, and a problem before a hold that people chose.
func (p *planner) isMoreUrgent(i, than int) bool {
	if gone := p.cluster.nodes[i].agentGone(p.cluster.now); gone || p.cluster.nodes[than].agentGone(p.cluster.now) {
		return gone && !p.cluster.nodes[than].agentGone(p.cluster.now)
	}
	return p.verdicts[than].hold.Reason.Info().HeldByPeople && !p.verdicts[i].hold.Reason.Info().HeldByPeople
}

// whyWaiting returns the hold of a waiting node as the whole upgrade's: it stays if an
// image cannot be staged.
func (p *planner) whyWaiting(hold clusterstate.Hold) clusterstate.Hold {
	hold.Stays = hold.Reason == v1alpha1.ReasonNotStaged && p.survey.stageError != nil
	return hold
}

// whyBlocked returns the hold of a blocked node as the whole upgrade's, with the node's
// name if it concerns only that node.
func (p *planner) whyBlocked(i int) clusterstate.Hold {
	hold := p.verdicts[i].hold
	switch hold.Reason {
	case p.cluster.held.Reason:
		return p.cluster.held
	case v1alpha1.ReasonNodeNotReady:
		if p.cluster.nodes[i].Ready { // it says which node is not
			return hold
		}
	case v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNotReadyAfterUpgrade:
		hold.Stays = true
		return hold
	}
	return clusterstate.Hold{Reason: hold.Reason, Message: fmt.Sprintf("node %s: %s", p.cluster.nodes[i].Name, hold.Message), Stays: true}
}

// failure returns the hold of an upgrade in which the node failed.
func failure(n *node) clusterstate.Hold {
	message := fmt.Sprintf("node %s failed (%s): %s", n.Name, n.cause.Reason, n.cause.Message)
	return clusterstate.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message, Stays: true}
}

// maxNotes is the API's limit on the nodes that a status names.
const maxNotes = 32

// count sets the status's node counts, and lists the active and the blocked nodes.
func (p *planner) count(t *target, status *v1alpha1.ClusterUpgradeStatus) {
	var c v1alpha1.NodeCounts
	status.Active, status.Blocked = nil, nil
	for i, n := range p.cluster.nodes {
		v := &p.verdicts[i]
		switch {
		case t.leavesOut(n):
			continue
		case t.unsupported(n):
			c.Unsupported++
			continue
		case n.abandoned != nil:
			status.Blocked = note(status.Blocked, n, v)
			continue
		}
		c.Total++
		switch {
		case v.decision == Blocked:
			c.Blocked++
			status.Blocked = note(status.Blocked, n, v)
		case v.decision == Go || n.busy() && !n.ownHold(p.cluster.now).Holds():
			c.Active++
			status.Active = note(status.Active, n, v)
		case v.decision == Done:
			c.Done++
		default:
			c.Waiting++
		}
	}
	status.Nodes = c
	status.Progress = fmt.Sprintf("%d/%d", c.Done, c.Total)
}

func note(list []v1alpha1.NodeNote, n *node, v *verdict) []v1alpha1.NodeNote {
	if len(list) == maxNotes {
		return list
	}
	return append(list, v1alpha1.NodeNote{Name: n.Name, Step: n.status.Step, Reason: v.hold.Reason, Message: clip(v.hold.Message)})
}
