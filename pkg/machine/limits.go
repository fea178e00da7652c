package machine

import (
	"cmp"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The limits of each step.
const (
	// MaxAttempts is how many attempts something on the node may end in one
	// upgrade. A drain that is blocked does not count: what blocks it is not on
	// this node. Nor does what is asked before anything is touched, until a person
	// has mended it: a snapshot that cannot be taken, a symlink that is not ours.
	MaxAttempts = 3
	// CheckWithin is how long static pods may take to become healthy.
	CheckWithin = 5 * time.Minute
	// AnswerWithin is how much longer it may take until it is known how they are.
	AnswerWithin = time.Minute
	// RebootWithin is how long a reboot that was asked for may take to begin.
	// Then it is asked for once more.
	RebootWithin = 5 * time.Minute
	// ReadyWithin is how long a node may take from its boot to Ready.
	ReadyWithin = 10 * time.Minute

	// HostWithin is how long a host, or the gate, may be silent before the last
	// check.
	HostWithin = 5 * time.Minute

	firstRetry = time.Minute
	lastRetry  = time.Hour
	// A failed download is tried again sooner: it disturbs nothing.
	firstStageRetry = 10 * time.Second
	lastStageRetry  = 10 * time.Minute

	drainRound = 5 * time.Second
	gateRound  = 15 * time.Second
	confLook   = 15 * time.Second // what a person mends is seen this soon
)

// backOff doubles with each attempt.
func backOff(attempts int32) time.Duration {
	delay := firstRetry
	for i := int32(1); i < attempts && delay < lastRetry; i++ {
		delay *= 2
	}
	return min(delay, lastRetry)
}

// stageRetry returns when a stage that failed is tried again: after as long again
// as it has been tried for, which doubles the pause each time with nothing to
// remember but when the step began.
func stageRetry(s State, failed time.Time) time.Time {
	return failed.Add(min(max(failed.Sub(s.Since), firstStageRetry), lastStageRetry))
}

func drainTimeout(o Observation) time.Duration {
	return seconds(cmp.Or(o.Spec.Drain.TimeoutSeconds, v1alpha1.DefaultStrategy().Drain.TimeoutSeconds))
}

func settle(o Observation) time.Duration { return seconds(o.Spec.SettleSeconds) }

func seconds(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }

// deadline returns when a step that waits for something runs out of time.
func deadline(s State, o Observation, within time.Duration) time.Time {
	return o.watched(s.Since).Add(within)
}

// watched returns since when there is an agent that looks, and not before since.
func (o Observation) watched(since time.Time) time.Time {
	if o.WatchingSince.After(since) {
		return o.WatchingSince
	}
	return since
}

// verifyLimit returns until when a node has to be Ready. One that did not stay Ready has
// its settle time besides, and no more: or it would go to and fro for ever.
func verifyLimit(s State, o Observation) (limit time.Time, stayed bool) {
	began := s.began(v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepFailed)
	limit, stayed = o.watched(began).Add(ReadyWithin), began.Equal(s.Since)
	if !stayed {
		limit = limit.Add(settle(o))
	}
	return limit, stayed
}

// gaveUp reports whether a failure on the node came too often.
func gaveUp(s State) bool {
	return !s.RetryAt.IsZero() && !s.Reason.Info().RetriedWithoutLimit && s.Failures >= MaxAttempts
}
