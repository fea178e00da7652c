package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// steps maps each step to its function. All other steps are betweenAttempts.
var steps = map[v1alpha1.Step]func(State, Observation) (State, Action){
	v1alpha1.StepKubeadmAhead: kubeadmAhead,
	v1alpha1.StepLocking:      locking,
	v1alpha1.StepSnapshotting: snapshotting,
	v1alpha1.StepKubeadm:      kubeadm,
	v1alpha1.StepChecking:     checking,
	v1alpha1.StepCordoning:    cordoning,
	v1alpha1.StepDraining:     draining,
	v1alpha1.StepDetaching:    detaching,
	v1alpha1.StepLastCheck:    lastCheck,
	v1alpha1.StepActivating:   activating,
	v1alpha1.StepRebooting:    rebooting,
	v1alpha1.StepRestarting:   restarting,
	v1alpha1.StepVerifying:    verifying,
	v1alpha1.StepSettling:     settling,
	v1alpha1.StepUncordoning:  uncordoning,
	v1alpha1.StepObserving:    observing,
	v1alpha1.StepUnlocking:    unlocking,
	v1alpha1.StepAborting:     aborting,
	v1alpha1.StepFailed:       failed,
	v1alpha1.StepRolledBack:   rolledBack,
}

// Next returns the next State and the Action to do. The State must be persisted before
// the Action is done: an agent that restarts would not recognise what was done otherwise.
// Only what is harmless to repeat may be done without. A State without an Action may be persisted later.
//
// The caller observes the node and calls Next again when the State changed or the Action
// was done.
func Next(s State, o Observation) (State, Action) {
	before := s.Step
	s, a := next(s, o)
	s = s.compareBoot(before, o)
	if a.Do == DoNothing && o.Node.OurCordon && !o.Node.Unschedulable {
		a.Do = DoDisown // another client has removed our cordon: the next one is not ours
	}
	return s, a
}

func next(s State, o Observation) (State, Action) {
	s = s.clampTimes(o.Now)
	if s.shutsDown(o) {
		return slowShutdown(s, o)
	}
	if s, runs := verbRunning(s, o); runs {
		return s, Action{}
	}
	if o.Host == nil {
		return hostUnreachable(s, o)
	}
	if s.Reason == v1alpha1.ReasonHostUnreachable {
		s = s.withReason("", "")
	}
	if s, rolledBack := afterRollback(s, o); rolledBack {
		return s, Action{}
	}
	if step, ok := steps[s.Step]; ok {
		return step(s, o)
	}
	return betweenAttempts(s, o)
}

// clampTimes corrects a State that was written while the clock was ahead: a step that
// begins in the future begins now, and no pause is longer than lastRetry.
func (s State) clampTimes(now time.Time) State {
	if s.Since.After(now) {
		s.Since = now
	}
	if latest := now.Add(lastRetry); s.RetryAt.After(latest) {
		s.RetryAt = latest
	}
	return s
}

// verbRunning reports whether a verb runs that the State does not mention, because the
// status was lost or is older. The verb cannot be interrupted, so the node keeps its slot
// and cordon until it ends.
func verbRunning(s State, o Observation) (State, bool) {
	unknown := func(v verb.Verb, step v1alpha1.Step) bool { return o.Work[v].Running && s.Step != step }
	switch {
	case unknown(verb.Snapshot, v1alpha1.StepSnapshotting):
		return resumeStep(s, o, v1alpha1.StepSnapshotting), true
	case unknown(verb.Kubeadm, v1alpha1.StepKubeadm) && workerWithoutSlot(o):
		return runsAhead(resumeStep(s, o, v1alpha1.StepKubeadmAhead)), true
	case unknown(verb.Kubeadm, v1alpha1.StepKubeadm):
		return resumeStep(s, o, v1alpha1.StepKubeadm), true
	case unknown(verb.Renew, v1alpha1.StepKubeadm):
		return resumeStep(s, o, v1alpha1.StepKubeadm), true
	case unknown(verb.Activate, v1alpha1.StepActivating), unknown(verb.Restart, v1alpha1.StepRestarting):
		return s, true // it ends soon; the next observation decides how to go on
	}
	return s, false
}

// workerWithoutSlot reports whether this is a worker that holds no slot: kubeadm runs there
// ahead of the node's turn, whatever the Node's annotations say.
func workerWithoutSlot(o Observation) bool {
	return o.Slot.Held == "" && (o.Host == nil || !o.Host.ControlPlane)
}

// resumeStep enters the step of a running verb. If the State is between attempts, it
// switches to the requested upgrade first.
func resumeStep(s State, o Observation, step v1alpha1.Step) State {
	if steps[s.Step] == nil {
		s = s.switchUpgrade(o)
	}
	return s.enter(step, o)
}

// resume handles a slot or a mark that the State does not mention, because the status was
// lost or is older. A node that may have been out of service is verified before it is
// uncordoned.
func resume(s State, o Observation) (State, Action) {
	booted := nextBoot(o) == expectedVersion(s, o) && (o.Host.Active == "" || o.Host.Merged == o.Host.Active)
	mayGoOn := o.Slot.Held != "" && !withdrawn(s, o)
	switch {
	case o.Spec.Type == v1alpha1.TypeReboot && asksForReboot(o) && mayGoOn:
		return s.enter(v1alpha1.StepLocking, o), Action{}
	case booted && (o.Node.Marked() || !mayGoOn):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case mayGoOn:
		return s.enter(v1alpha1.StepLocking, o), Action{}
	case !o.Node.Marked() && kubeadmDone(o):
		return s.enter(v1alpha1.StepChecking, o), Action{}
	}
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, "the node was cordoned by an upgrade that is no longer requested")
}

// hostUnreachable continues while the host cannot be read. Only steps that need nothing
// from the host go on: a full disk or an unavailable bus must not keep a node out of
// service. In all others the node waits.
func hostUnreachable(s State, o Observation) (State, Action) {
	if o.Node != (Node{}) {
		switch s.Step {
		case v1alpha1.StepDraining:
			return draining(s, o)
		case v1alpha1.StepAborting:
			if endsUnread(s, o) {
				return aborting(s, o)
			}
		case v1alpha1.StepUncordoning:
			return uncordoning(s, o)
		case v1alpha1.StepObserving:
			return observing(s, o)
		case v1alpha1.StepIdle:
			if s.endedIdle() && endsUnread(s, o) && o.Slot.Held != "" && !o.Node.Marked() {
				return s, actionOf(DoFree)
			}
		case v1alpha1.StepUnlocking:
			if endsUnread(s, o) && (o.Node.Marked() || o.Slot.Held != "") {
				return unlocking(s, o)
			}
		case v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDetaching, v1alpha1.StepLastCheck:
			if s.Step == v1alpha1.StepLocking && o.Slot.Held == "" && !o.Node.Marked() {
				break // there is nothing to undo
			}
			if stop, a, aborted := abortUnreachable(s, o); aborted {
				return stop, a
			}
		}
	}
	if o.HostProblem == "" {
		return s, Action{}
	}
	if s.Step == "" {
		s = s.enter(v1alpha1.StepIdle, o)
	}
	if keepsReason(s, o) {
		return s, Action{}
	}
	if until := s.rebootsUntil(o); o.Now.Before(until) {
		return s.withReason("", ""), wakeAt(until)
	}
	return s.withReason(v1alpha1.ReasonHostUnreachable, o.HostProblem), Action{}
}

// endsUnread reports whether an attempt may end although it is not known whether the guard
// watches. Not while the facts are on their way, nor while the guard's watch is being ended or
// was not: the guard may still reboot the node.
func endsUnread(s State, o Observation) bool {
	confirmed := o.Work[verb.Confirm]
	refused := confirmed.endedInStep(s, attemptKey(s, o)) && !confirmed.OK
	return o.HostProblem != "" && !confirmed.Running && !refused
}

// abortUnreachable aborts an attempt before its activation if the release was withdrawn or
// the host was unreachable for HostWithin.
func abortUnreachable(s State, o Observation) (State, Action, bool) {
	uncounted := s.uncounted()
	if s.Step == v1alpha1.StepLocking {
		uncounted = s // beginAttempt has not counted it
	}
	switch {
	case withdrawn(s, o):
		s, a := abortWithdrawn(uncounted, o)
		return s, a, true
	case o.HostProblem != "" && !o.Now.Before(deadline(s, o, HostWithin)):
		message := fmt.Sprintf("the host could not be read for %s: %s", HostWithin, o.HostProblem)
		s, a := abort(uncounted, o, v1alpha1.ReasonHostUnreachable, message)
		return s, a, true
	}
	return s, Action{}, false
}

// keepsReason reports whether the State's reason says more than that the host is
// unreachable now: what failed, and when it is retried.
func keepsReason(s State, o Observation) bool {
	return s.Step.Info().Phase == v1alpha1.PhaseStopped || s.Step == v1alpha1.StepAborting ||
		s.Step == v1alpha1.StepWaiting && o.Now.Before(s.RetryAt)
}
