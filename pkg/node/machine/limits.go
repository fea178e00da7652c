package machine

import (
	"cmp"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// The limits of each step.
const (
	// MaxAttempts is how many attempts of one upgrade may fail on the node. A blocked
	// drain does not count: its cause is outside this node. Neither does a failure
	// before anything was changed: a snapshot that cannot be taken, a symlink that is
	// not ours.
	MaxAttempts = 3
	// CheckWithin is how long static pods may take to become healthy.
	CheckWithin = 5 * time.Minute
	// AnswerWithin is how much longer the answer about their health may take.
	AnswerWithin = time.Minute
	// ShutdownWithin is how long a shutdown may take before people are told that it does. systemd gives each unit 90
	// seconds to stop.
	ShutdownWithin = 2 * time.Minute
	// RebootWithin is how long a requested reboot may take to begin. Then it is
	// requested once more.
	RebootWithin = 5 * time.Minute
	// ReadyWithin is how long a node may take from its boot to Ready.
	ReadyWithin = 10 * time.Minute

	// seenWithin is how much of a node's Ready time before its uncordon, and before its slot is freed, the agent has to have
	// seen itself, without interruption.
	seenWithin = 20 * time.Second

	// HostWithin is how long the host or the rules may be unreadable before the last
	// check.
	HostWithin = 5 * time.Minute

	// returnWithin is how much longer than guardSeconds the guard may take: for a kubelet that
	// starts late, a finding that must last, and the reboot.
	returnWithin = 7 * time.Minute

	// pullAgain is when images that the kubelet has removed are pulled again.
	pullAgain = 10 * time.Minute

	firstRetry = time.Minute
	lastRetry  = time.Hour
	// A failed download is retried sooner: it disrupts nothing.
	firstStageRetry = 10 * time.Second
	lastStageRetry  = 10 * time.Minute

	drainRound = 5 * time.Second
	// lookWithin is how long what a round of evictions found is shown without its time.
	lookWithin = 4 * drainRound
	rulesRound = 15 * time.Second
	confRetry  = 15 * time.Second // a person may have fixed the configuration
)

// backOff returns the pause after that many attempts. It doubles with each.
func backOff(attempts int32) time.Duration {
	delay := firstRetry
	for i := int32(1); i < attempts && delay < lastRetry; i++ {
		delay *= 2
	}
	return min(delay, lastRetry)
}

// stageRetry returns when a failed preparation is retried. The pause is the time since
// the step began, so that it doubles with each failure and needs no counter.
func stageRetry(s State, failed time.Time) time.Time {
	return failed.Add(min(max(failed.Sub(s.Since), firstStageRetry), lastStageRetry))
}

func drainTimeout(o Observation) time.Duration {
	return clusterstate.Seconds(cmp.Or(o.Spec.Drain.TimeoutSeconds, v1alpha1.DefaultStrategy().Drain.TimeoutSeconds))
}

// readyWithin returns ReadyWithin, or more if the guard may act until then.
func readyWithin(o Observation) time.Duration {
	return max(ReadyWithin, clusterstate.Seconds(o.Spec.GuardSeconds)+returnWithin)
}

func settle(o Observation) time.Duration { return clusterstate.Seconds(o.Spec.SettleSeconds) }

// deadline returns when a step that waits for something runs out of time.
func deadline(s State, o Observation, within time.Duration) time.Time {
	return o.watched(s.Since).Add(within)
}

// watched returns the later of since and the start of this agent.
func (o Observation) watched(since time.Time) time.Time {
	if o.WatchingSince.After(since) {
		return o.WatchingSince
	}
	return since
}

// verifyLimit returns when verifying times out, and whether the node has stayed in that
// step. A node that was Ready and lost it gets its settle time on top, once: otherwise it
// could alternate between Verifying and Settling for ever.
func verifyLimit(s State, o Observation) (limit time.Time, stayed bool) {
	began := s.firstEntered(v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepFailed)
	limit, stayed = o.watched(began).Add(readyWithin(o)), began.Equal(s.Since)
	if !stayed {
		limit = limit.Add(settle(o))
	}
	return limit, stayed
}

// attemptsExhausted reports whether the node has failed MaxAttempts times.
func attemptsExhausted(s State) bool {
	return !s.RetryAt.IsZero() && !s.Reason.Info().RetriedWithoutLimit && s.Failures >= MaxAttempts
}

// NeedsRules reports whether Next needs Observation.Rules: that no rule holds the node leads to another step, action or
// reason than when that is not known. So they are asked before each disruptive action, and seldom else.
func NeedsRules(s State, o Observation) bool {
	o.Rules = nil
	unknown, without := Next(s, o)
	o.Rules = &clusterstate.Hold{}
	open, with := Next(s, o)
	return unknown.Step != open.Step || unknown.Reason != open.Reason || unknown.Message != open.Message ||
		without.Do != with.Do || without.Verb != with.Verb
}

// AwaitsKubelet reports whether Next waits for this boot's kubelet to report.
func AwaitsKubelet(s State, o Observation) bool {
	return s.Step == v1alpha1.StepVerifying && (!kubeletReported(o) || !o.Node.Ready)
}

// NeedsLease reports whether Next needs Observation.Lease: to know whether a Ready node still has
// a kubelet.
func NeedsLease(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepVerifying, v1alpha1.StepSettling:
		return o.Host != nil && isReady(s, o)
	case v1alpha1.StepFailed:
		return o.Host != nil && (s.mayReturn() || s.Reason == v1alpha1.ReasonNotWhole) && isReady(s, o)
	case v1alpha1.StepObserving:
		return readyAgain(o)
	}
	return false
}

// NeedsHealth reports whether Next needs Observation.Health: before the slot is freed, in
// both passes, and to recover from ReasonUnhealthy.
func NeedsHealth(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepChecking:
		return true
	case v1alpha1.StepSettling:
		return !o.Now.Before(settledAt(s, o))
	case v1alpha1.StepFailed:
		return s.Reason == v1alpha1.ReasonUnhealthy
	}
	return false
}
