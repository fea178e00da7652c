package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// unseen goes on with a host that cannot be looked at. Nothing on it is recognised
// then, and the node waits; but what takes nothing from the host goes on: a full
// disk or a bus that is away must not keep a node out of service.
func unseen(s State, o Observation) (State, Action) {
	if o.Node != (Node{}) {
		switch s.Step {
		case v1alpha1.StepDraining:
			return draining(s, o)
		case v1alpha1.StepAborting:
			return aborting(s, o)
		case v1alpha1.StepUncordoning:
			return uncordoning(s, o)
		case v1alpha1.StepObserving:
			return observing(s, o)
		case v1alpha1.StepUnlocking:
			if o.Node.Marked() || o.Slot.Held != "" {
				return unlocking(s, o)
			}
		case v1alpha1.StepCordoning, v1alpha1.StepLastCheck:
			if stop, a, given := giveUpUnseen(s, o); given {
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
	if saysMore(s, o) {
		return s, Action{}
	}
	return s.say(v1alpha1.ReasonHostUnreachable, o.HostProblem), Action{}
}

// giveUpUnseen brings a node back that is about to be flipped and cannot be.
func giveUpUnseen(s State, o Observation) (State, Action, bool) {
	switch {
	case withdrawn(s, o):
		s, a := callBack(s.uncounted(), o)
		return s, a, true
	case o.HostProblem != "" && !o.Now.Before(deadline(s, o, HostWithin)):
		message := fmt.Sprintf("the host could not be looked at for %s: %s", HostWithin, o.HostProblem)
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonHostUnreachable, message)
		return s, a, true
	}
	return s, Action{}, false
}

// saysMore reports whether the State's reason says more than that the host is
// silent now: what failed, and what is waited for after it.
func saysMore(s State, o Observation) bool {
	return s.Step.Info().Phase == v1alpha1.PhaseStopped || s.Step == v1alpha1.StepAborting ||
		s.Step == v1alpha1.StepWaiting && o.Now.Before(s.RetryAt)
}
