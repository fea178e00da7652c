package machine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// abort begins to give up cleanly, for a reason that is no failure.
func abort(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepAborting, o).say(reason, message), Action{}
}

// closed gives up because something stands against beginning, and says what.
func closed(s State, o Observation) (State, Action) {
	s, a := abort(s, o, cmp.Or(o.Gate.Reason, v1alpha1.ReasonGateUnknown), o.Gate.Message)
	return s.until(o.Gate.Until), a
}

// callBack gives up because the coordinator wants it. Its condition says why.
func callBack(s State, o Observation) (State, Action) {
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, "the release was withdrawn")
}

// uncounted takes an attempt back that ended for a reason that is no failure.
func (s State) uncounted() State {
	s.Attempts = max(0, s.Attempts-1)
	return s
}

// abortAndRetry begins to give up for now.
func abortAndRetry(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s = s.enter(v1alpha1.StepAborting, o).say(reason, message)
	if !reason.Info().RetriedWithoutLimit {
		s.Failures++
	}
	s.RetryAt = o.Now.Add(backOff(s.Attempts))
	return s, Action{}
}

// fail stops the node where it is, with its slot, until a person acts.
func fail(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepFailed, o).say(reason, message), Action{}
}

// aborting undoes in the one order that is safe: cordon, mark, slot.
func aborting(s State, o Observation) (State, Action) {
	reason, message, until := s.Reason, s.Message, s.Until
	limit := deadline(s, o, ReadyWithin)
	switch {
	case o.Node.Marked() && o.Host != nil && (!o.Node.Ready || !kubeletSpeaks(o)) && o.Now.Before(limit):
		return s, wait(limit) // the power failed, and the node is not back yet
	case o.Node.Marked():
		return s, act(DoUncordon)
	case gaveUp(s):
		return fail(s, o, reason, fmt.Sprintf("gave up after %d attempts: %s", s.Failures, message))
	case o.Slot.Held != "":
		return s, act(DoFree)
	}
	s.RebootedFrom = ""
	return s.enter(v1alpha1.StepWaiting, o).say(reason, message).until(until), Action{}
}

// failed ends when another upgrade is asked for, or by itself where what was
// waited for has come true after all.
func failed(s State, o Observation) (State, Action) {
	if another(s, o) {
		return giveWay(s, o)
	}
	switch s.Reason {
	case v1alpha1.ReasonUnhealthy:
		switch {
		case o.Health == nil || !o.Health.OK:
		case o.Node.Marked():
			return s.enter(v1alpha1.StepSettling, o), Action{}
		case s.Method != "":
			return inService(s, o), Action{}
		default: // in pass 1
			return s.enter(v1alpha1.StepUnlocking, o), Action{}
		}
	case v1alpha1.ReasonRebootFailed, v1alpha1.ReasonRestartFailed, v1alpha1.ReasonNotReadyInTime, v1alpha1.ReasonWrongVersion:
		if isBack(s, o) {
			return s.enter(v1alpha1.StepSettling, o), Action{}
		}
	case v1alpha1.ReasonRebootStillRequired:
		if !o.Host.RebootRequired {
			return s.enter(v1alpha1.StepUnlocking, o), Action{}
		}
	}
	return s, Action{}
}

// rolledBack ends when another upgrade is asked for.
func rolledBack(s State, o Observation) (State, Action) {
	if another(s, o) {
		return giveWay(s, o)
	}
	return s, Action{}
}

// another reports whether another upgrade is asked for than the one that stopped, or
// that one no more. A record that was lost names none.
func another(s State, o Observation) bool {
	return !s.Follows(o.Spec) && (s.Upgrade.UID != "" || o.Spec.Upgrade != nil)
}

func giveWay(s State, o Observation) (State, Action) {
	message := fmt.Sprintf("gives way to another upgrade after: %s: %s", s.Reason, s.Message)
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, message)
}
