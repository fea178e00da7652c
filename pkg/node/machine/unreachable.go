package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

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
		case v1alpha1.StepUnlocking:
			if endsUnread(s, o) && (o.Node.Marked() || o.Slot.Held != "") {
				return unlocking(s, o)
			}
		case v1alpha1.StepCordoning, v1alpha1.StepLastCheck:
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
	switch {
	case withdrawn(s, o):
		s, a := abortWithdrawn(s.uncounted(), o)
		return s, a, true
	case o.HostProblem != "" && !o.Now.Before(deadline(s, o, HostWithin)):
		message := fmt.Sprintf("the host could not be read for %s: %s", HostWithin, o.HostProblem)
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonHostUnreachable, message)
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
