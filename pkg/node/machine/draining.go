package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

func cordoning(s State, o Observation) (State, Action) {
	if atTarget(o) {
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	if s = s.writtenDown(o); s.Parts == nil {
		return s, Action{}
	}
	switch {
	case cordoned(o):
		return s.enter(v1alpha1.StepDraining, o), Action{}
	case o.Rules == nil:
		return s, Action{}
	}
	return s, actionOf(DoCordon)
}

// draining evicts pods until none is left or the drain times out. Each round checks the
// rules first: one that holds the node aborts the attempt, and an unknown answer pauses evictions.
func draining(s State, o Observation) (State, Action) {
	began := s.firstEntered(v1alpha1.StepDraining, v1alpha1.StepCordoning, v1alpha1.StepDetaching, v1alpha1.StepLastCheck)
	limit, disrupts := began.Add(drainTimeout(o)), began.Add(undisrupted(o))
	late := !o.Now.Before(limit)
	if o.Drain != nil && o.Drain.At.Before(s.Since) {
		o.Drain = nil
	}
	deletes := o.Spec.Drain.OnTimeout == v1alpha1.OnTimeoutDelete
	switch {
	case withdrawn(s, o):
		return abortWithdrawn(s.uncounted(), o)
	case o.Slot.Held != "" && !cordoned(o):
		return s.reenter(v1alpha1.StepCordoning, o), Action{}
	case o.Slot.Held != "" && o.Drain != nil && o.Drain.Left == 0 && clusterstate.Seconds(o.Spec.Drain.VolumesDetachedSeconds) > 0:
		return s.enter(v1alpha1.StepDetaching, o), Action{}
	case o.Slot.Held != "" && o.Drain != nil && o.Drain.Left == 0:
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case o.Rules != nil && o.Rules.Holds() && o.Rules.Reason != v1alpha1.ReasonRulesUnknown:
		return abortHeld(s.uncounted(), o)
	case late && o.Slot.Held == "":
		return abort(s.uncounted(), o, v1alpha1.ReasonNoSlot, fmt.Sprintf("not drained within %s, as this node lost its slot; the last round: %s", drainTimeout(o), drainMessage(s, o)))
	case late && (!deletes || !o.Now.Before(limit.Add(drainTimeout(o)))):
		return abortAndRetry(s, o, v1alpha1.ReasonDrainTimeout, fmt.Sprintf("not drained within %s: %s", drainTimeout(o), drainMessage(s, o)))
	case o.Slot.Held == "":
		return s.withReason(v1alpha1.ReasonNoSlot, "no pod is evicted or looked at: the Lease of "+o.Node.SlotMark+
			" does not name this node; waits for the coordinator to mend it from the Node's annotation").withUntil(limit), wakeAt(limit)
	case o.Rules != nil && o.Rules.Holds():
		return s.withReason(o.Rules.Reason, "no pod is evicted: "+o.Rules.Message).withUntil(limit), wakeAt(o.Now.Add(drainRound))
	}
	// After the timeout, deleted pods get the same time again to terminate.
	round := Action{Do: DoDrain, Disrupt: !o.Now.Before(disrupts), Delete: late, Wake: o.Now.Add(drainRound)}
	if !late && limit.Before(round.Wake) {
		round.Wake = limit
	}
	if o.Rules == nil {
		round.Do, round.Disrupt, round.Delete = DoNothing, false, false
	}
	if o.Rules == nil && o.HostProblem != "" {
		return s.withReason(v1alpha1.ReasonHostUnreachable, "no pod is evicted: "+o.HostProblem).withUntil(limit), round
	}
	reason := v1alpha1.ReasonDraining
	if o.Drain != nil && o.Drain.Blocked {
		reason = v1alpha1.ReasonDrainBlocked
	}
	return s.withReason(reason, drainMessage(s, o)).withUntil(limit), round
}

// undisrupted returns how long pods that must not be disrupted are waited for: half of the drain's limit at most, so that
// they can end once they are evicted.
func undisrupted(o Observation) time.Duration {
	return min(clusterstate.Seconds(o.Spec.Drain.DoNotDisruptSeconds), drainTimeout(o)/2)
}

// drainMessage says what the last round found, and when that was, if it was not just now.
func drainMessage(s State, o Observation) string {
	found, at := "evicting pods", s.Since
	if o.Drain != nil {
		found, at = o.Drain.Message, o.Drain.At
	}
	if o.Now.Before(at.Add(lookWithin)) {
		return found
	}
	return fmt.Sprintf("%s (the node has not looked at its pods since %s)", found, at.UTC().Format(time.RFC3339))
}

const (
	// nextHostAge is how old the host's facts become on a node that goes next.
	nextHostAge = 30 * time.Second
	// settledHostAge is how old they may be when a node has settled.
	settledHostAge = 10 * time.Second
	// lockingHostAge is how old they may be when such a node takes its slot.
	lockingHostAge = time.Minute
)

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// HostSince returns the instant since which the host's facts must have been gathered; the zero
// time if older ones will do. A node that goes next keeps them fresh, so that it need not gather
// them between its release and its cordon. confProblem is the last known problem with the
// configuration: a person may have fixed it.
func HostSince(s State, o Observation, confProblem string) time.Time {
	switch s.Step {
	case v1alpha1.StepLastCheck:
		return s.Since
	case v1alpha1.StepLocking:
		switch {
		case o.Spec.Type == v1alpha1.TypeReboot: // which may not be needed any more
			return latest(s.Since, o.Now.Add(-lockingHostAge))
		case s.ranKubeadmAhead():
			return s.Since.Add(-lockingHostAge)
		}
		return s.Since
	case v1alpha1.StepSettling: // they have the kubelet's health
		if end := settledAt(s, o); !o.Now.Before(end) {
			return latest(end, o.Now.Add(-settledHostAge))
		}
	case v1alpha1.StepObserving:
		if end := observedAt(s, o); !o.Now.Before(end) {
			return latest(end, o.Now.Add(-settledHostAge))
		}
	case v1alpha1.StepStaging:
		if confProblem != "" {
			return s.Since
		}
	case v1alpha1.StepWaiting:
		if o.Spec.Release == v1alpha1.ReleaseKubeadmAhead {
			return o.Now.Add(-nextHostAge)
		}
	}
	return time.Time{}
}
