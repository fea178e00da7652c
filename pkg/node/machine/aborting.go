package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// abort begins to abort the attempt, for a reason that is no failure.
func abort(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepAborting, o).withReason(reason, message), Action{}
}

// abortHeld aborts because a rule holds the node, with that rule's reason.
func abortHeld(s State, o Observation) (State, Action) {
	s, a := abort(s, o, cmp.Or(o.Rules.Reason, v1alpha1.ReasonRulesUnknown), o.Rules.Message)
	return s.withUntil(ptr.Deref(o.Rules.Until, time.Time{})), a
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
	if !s.guardWatches(o) {
		s.Message = message
	}
	switch {
	case o.Node.Marked() && !readyAgain(o) && o.Now.Before(limit):
		return s, wakeAt(limit) // the node has not come back from a power failure yet
	case s.guardWatches(o):
		refused, a := confirm(s, o) // another node may begin once the slot is free
		if refused.Message != s.Message {
			s.Message = message + guardStays + refused.Message
		}
		return s, a
	case o.Node.Marked():
		return s, actionOf(DoUncordon)
	case attemptsExhausted(s):
		return fail(s, o, reason, fmt.Sprintf("%d attempts failed; the last: %s", s.Failures, message))
	case o.Slot.Held != "":
		return s, actionOf(DoFree)
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
		case s.Method != "", s.guardWatches(o):
			return s.enter(v1alpha1.StepSettling, o), Action{}
		default: // in pass 1
			return s.enter(v1alpha1.StepUnlocking, o), Action{}
		}
	case s.Reason == v1alpha1.ReasonNotWhole:
		if isBack(s, o) && isWhole(s, o) && (o.Node.Marked() || len(o.KeptOut) == 0) {
			return s.enter(v1alpha1.StepSettling, o), Action{}
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
	case v1alpha1.ReasonRebootFailed, v1alpha1.ReasonRestartFailed, v1alpha1.ReasonNotReadyInTime, v1alpha1.ReasonWrongVersion,
		v1alpha1.ReasonNodeAtFault:
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

// afterRollback enters RolledBack if the guard has returned the node to its former version
// in this upgrade, and reports whether it has or is about to. It does so from any step:
// the State may be lost or older.
func afterRollback(s State, o Observation) (State, bool) {
	r := o.Host.Rollback
	if r == nil || r.Impossible || !s.concerns(r, o) || s.Step == v1alpha1.StepRolledBack {
		return s, false
	}
	if s.Step == v1alpha1.StepAborting {
		return s, rollingBack(o) // the attempt ends anyway, but not while the node changes
	}
	if rollingBack(o) {
		message := fmt.Sprintf("the guard returns the node to %s: %s", r.From, r.Message)
		return s.withReason(v1alpha1.ReasonRolledBack, message), true
	}
	if s.Upgrade.UID == "" {
		s = s.switchUpgrade(o)
	}
	s.KubeletLog, s.RetryAt = r.Log, time.Time{}
	message := fmt.Sprintf("%s did not become healthy, and the guard returned the node to %s: %s", r.To, r.From, r.Message)
	return s.enter(v1alpha1.StepRolledBack, o).withReason(blame(r, v1alpha1.ReasonRolledBack), message), true
}

// blame returns the reason of a node that the guard has returned, or could not return. A cause that
// is the node's own must not be held against the version.
func blame(r *verb.Rollback, otherwise v1alpha1.Reason) v1alpha1.Reason {
	if r.NodesFault {
		return v1alpha1.ReasonNodeAtFault
	}
	return otherwise
}

// failVerified is fail for a node that did not become healthy with the new version. It says why the
// guard did not return it, if it has ended without.
func failVerified(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	if r := o.Host.Rollback; guardEnded(s, o) != "" {
		s.KubeletLog, reason = r.Log, blame(r, reason)
	}
	return fail(s, o, reason, message+guardEnded(s, o))
}

// guardEnded returns the end of a message about a node that does not become healthy: why the
// guard did not return it. It is empty while the guard may still do so, and while the host cannot be read.
func guardEnded(s State, o Observation) string {
	if o.Host == nil {
		return ""
	}
	if r := o.Host.Rollback; r != nil && r.Impossible && s.concerns(r, o) {
		return "; the guard has ended: " + r.Message
	}
	return ""
}

// rollingBack reports whether the guard is about to return the node. A guard that was
// disarmed in the middle does not continue.
func rollingBack(o Observation) bool {
	return o.Host.Rollback != nil && !o.Host.Rollback.Finished() && o.Host.Guarded
}

// concerns reports whether the rollback was of the upgrade that the State follows, or that
// is requested if the State was lost.
func (s State) concerns(r *verb.Rollback, o Observation) bool {
	switch {
	case s.Upgrade.UID == "":
		return o.Spec.Upgrade != nil && o.Spec.Upgrade.UID == r.Upgrade
	case BetweenAttempts(s.Step) && !s.Follows(o.Spec):
		return false // another upgrade is about to begin
	}
	return s.Upgrade.UID == r.Upgrade
}

// rolledBack uncordons the node once it is Ready at its former version: it serves again, which the timeline says,
// and keeps its slot so that no other node begins. The node leaves the step when another upgrade is requested.
func rolledBack(s State, o Observation) (State, Action) {
	if superseded(s, o) {
		return abortSuperseded(s, o)
	}
	former := o.Host.Rollback == nil || o.Node.KubeletVersion == o.Host.Rollback.From
	switch {
	case !o.Node.Ready || !kubeletReported(o) || !former:
	case o.Node.Marked():
		return s, actionOf(DoUncordon)
	default:
		s = s.servesAgain(o)
	}
	return s, Action{}
}

// servesAgain returns s with the end of its step in the timeline, which the node stays in.
func (s State) servesAgain(o Observation) State {
	last := len(s.Steps) - 1
	if last < 0 || s.Steps[last].Step != s.Step || !s.Steps[last].FinishedAt.IsZero() {
		return s
	}
	s.Steps = slices.Clone(s.Steps)
	s.Steps[last].FinishedAt = o.Now
	return s
}

// guardWatches reports whether the guard may return the node to its former version. It does
// nothing before the node has booted, or the activated image is merged otherwise. A boot need not
// merge it: the guard returns a node whose image holds another version than its name says.
func (s State) guardWatches(o Observation) bool {
	if o.Host == nil || !o.Host.Guarded {
		return false
	}
	return o.Host.Merged == o.Host.Active || o.Host.Merged == "" || s.RebootedFrom != "" && s.booted(o)
}

// guardEndsAt returns when a guard that watches the node in service has ended by itself: healthy, or with a return that the
// host shows.
func guardEndsAt(s State, o Observation) time.Time {
	verified := s.firstEntered(v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepUnlocking)
	return o.watched(verified).Add(readyWithin(o))
}

// mayBeWatchedUnread reports whether the guard may watch the node in service, and its host cannot be asked.
func (s State) mayBeWatchedUnread(o Observation) bool {
	return o.Host == nil && s.Method != "" && o.Spec.Type.HasVersion() && o.Now.Before(guardEndsAt(s, o))
}

// awaitGuard keeps the slot of a node in service whose host cannot be read until the guard has ended.
func awaitGuard(s State, o Observation) (State, Action) {
	end := guardEndsAt(s, o)
	if o.HostProblem == "" {
		return s, wakeAt(end) // the facts are on their way
	}
	return s.withReason(v1alpha1.ReasonHostUnreachable, "in service; the guard may still watch: "+o.HostProblem).withUntil(end), wakeAt(end)
}

// confirm ends the guard's watch, so that the node is not rolled back once another one may
// begin. It fails if a rollback has begun.
func confirm(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Confirm]
	switch retry := work.FinishedAt.Add(confRetry); {
	case work.Running:
		return s, Action{}
	case work.endedInStep(s, key) && !work.OK:
		s = s.withReason(work.Reason, work.Message)
		if o.Now.Before(retry) {
			return s, wakeAt(retry)
		}
	}
	return withWork(s, o, verb.Confirm, key)
}
