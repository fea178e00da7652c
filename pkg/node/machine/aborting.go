package machine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// abort begins to abort the attempt, for a reason that is no failure.
func abort(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepAborting, o).withReason(reason, message), Action{}
}

// abortGateClosed aborts because the gate is closed, with the gate's reason.
func abortGateClosed(s State, o Observation) (State, Action) {
	s, a := abort(s, o, cmp.Or(o.Gate.Reason, v1alpha1.ReasonGateUnknown), o.Gate.Message)
	return s.withUntil(o.Gate.Until), a
}

// abortWithdrawn aborts because the coordinator withdrew the release. Its condition says
// why.
func abortWithdrawn(s State, o Observation) (State, Action) {
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, "the release was withdrawn")
}

// uncounted returns s without counting this attempt, which ended for a reason that is no
// failure.
func (s State) uncounted() State {
	s.Attempts = max(0, s.Attempts-1)
	return s
}

// abortAndRetry begins to abort the attempt after a failure, and retries after backOff.
func abortAndRetry(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s = s.enter(v1alpha1.StepAborting, o).withReason(reason, message)
	if !reason.Info().RetriedWithoutLimit {
		s.Failures++
	}
	s.RetryAt = o.Now.Add(backOff(s.Attempts))
	return s, Action{}
}

// fail stops the node with its slot until a person acts.
func fail(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepFailed, o).withReason(reason, message), Action{}
}

// guardStays begins the end of a message: why the guard's watch could not be ended.
const guardStays = "; the guard's watch could not be ended yet: "

// aborting undoes the attempt in the only safe order: cordon and annotations, then slot.
func aborting(s State, o Observation) (State, Action) {
	message, _, _ := strings.Cut(s.Message, guardStays)
	reason, until := s.Reason, s.Until
	limit := deadline(s, o, ReadyWithin)
	if !guardWatches(o) {
		s.Message = message
	}
	switch {
	case o.Node.Marked() && !readyAgain(o) && o.Now.Before(limit):
		return s, wait(limit) // the node has not come back from a power failure yet
	case guardWatches(o):
		refused, a := confirm(s, o) // another node may begin once the slot is free
		if refused.Message != s.Message {
			s.Message = message + guardStays + refused.Message
		}
		return s, a
	case o.Node.Marked():
		return s, act(DoUncordon)
	case attemptsExhausted(s):
		return fail(s, o, reason, fmt.Sprintf("%d attempts failed; the last: %s", s.Failures, message))
	case o.Slot.Held != "":
		return s, act(DoFree)
	}
	s = s.notRebooting()
	return s.enter(v1alpha1.StepWaiting, o).withReason(reason, message).withUntil(until), Action{}
}

// failed ends when another upgrade or none is requested, or when the condition that failed is met
// after all.
func failed(s State, o Observation) (State, Action) {
	if superseded(s, o) {
		return abortSuperseded(s, o)
	}
	switch {
	case s.Reason == v1alpha1.ReasonUnhealthy:
		switch {
		case o.Health == nil || !o.Health.OK:
		case s.Method != "", guardWatches(o):
			return s.enter(v1alpha1.StepSettling, o), Action{}
		default: // in pass 1
			return s.enter(v1alpha1.StepUnlocking, o), Action{}
		}
	case s.mayReturn():
		if isBack(s, o) {
			return s.enter(v1alpha1.StepSettling, o), Action{}
		}
	case s.Reason == v1alpha1.ReasonRebootStillRequired:
		if !o.Host.RebootRequired {
			return s.enter(v1alpha1.StepUnlocking, o), Action{}
		}
	}
	return s, Action{}
}

// mayReturn reports whether the node failed for a reason that ends when it is back.
func (s State) mayReturn() bool {
	switch s.Reason {
	case v1alpha1.ReasonRebootFailed, v1alpha1.ReasonRestartFailed, v1alpha1.ReasonNotReadyInTime, v1alpha1.ReasonWrongVersion:
		return true
	}
	return false
}

// superseded reports whether the upgrade that stopped is no longer requested. A State that
// was lost names no upgrade, and is superseded by any.
func superseded(s State, o Observation) bool {
	return !s.Follows(o.Spec) && (s.Upgrade.UID != "" || o.Spec.Upgrade != nil)
}

func abortSuperseded(s State, o Observation) (State, Action) {
	cause := "another upgrade became active"
	if o.Spec.Upgrade == nil {
		cause = "no upgrade is requested any more"
	}
	message := fmt.Sprintf("aborted because %s; before that: %s: %s", cause, s.Reason, s.Message)
	return abort(s, o, v1alpha1.ReasonUpgradeWithdrawn, message)
}
