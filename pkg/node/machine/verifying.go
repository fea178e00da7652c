package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// verifying waits until this boot's kubelet is Ready at the expected version.
func verifying(s State, o Observation) (State, Action) {
	version := expectedVersion(s, o)
	limit, stayed := verifyLimit(s, o)
	switch {
	case isBack(s, o):
		return s.enter(v1alpha1.StepSettling, o), Action{}
	case isReady(s, o) && leaseMayBeRenewed(o):
		return s.withReason(v1alpha1.ReasonNodeNotReady, "Ready; waits for kubelet "+version+" to renew its Lease"), Action{}
	case s.keepsBoot(o) && o.Now.Before(limit):
		// The Node still shows the former kubelet until the new one reports.
	case s.restarts():
		return failVerified(s, o, v1alpha1.ReasonRestartFailed, fmt.Sprintf("kubelet %s is not Ready %s after its restart%s", version, readyWithin(o), restartFailure(s, o)))
	case !s.keepsBoot(o) && kubeletReported(o) && o.Node.KubeletVersion != version:
		return failVerified(s, o, v1alpha1.ReasonWrongVersion, fmt.Sprintf("the node came back with kubelet %s instead of %s", o.Node.KubeletVersion, version))
	case !o.Now.Before(limit) && !stayed:
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node was Ready with kubelet %s but did not stay Ready for %s", version, settle(o)))
	case !o.Now.Before(limit):
		return failVerified(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready with kubelet %s %s after its boot%s", version, readyWithin(o), refused(o)))
	}
	return s.withReason(v1alpha1.ReasonNodeNotReady, "waits for kubelet "+version+" to be Ready"+notRenewed(s, o)+refused(o)+guardEnded(s, o)).withUntil(limit), wakeAt(limit)
}

// notRenewed returns the end of a message about a node that is Ready and has no kubelet any
// more.
func notRenewed(s State, o Observation) string {
	if !isReady(s, o) || o.Lease == nil {
		return ""
	}
	return "; the kubelet has not renewed its Lease since " + o.Lease.RenewedAt.UTC().Format(time.TimeOnly)
}

// refused returns the end of a message about a kubelet that does not report: the answer of
// the API server to what it writes.
func refused(o Observation) string {
	if o.KubeletRefused == "" {
		return ""
	}
	return "; the API server refuses what the kubelet writes to its Node: " + o.KubeletRefused
}

// isBack reports whether the node is Ready at the expected version, and its kubelet works.
func isBack(s State, o Observation) bool { return isReady(s, o) && leaseRenewed(o) }

// isReady reports whether the Node is Ready at the expected version, after its reboot if the
// attempt includes one.
func isReady(s State, o Observation) bool {
	return s.booted(o) && kubeletReported(o) && o.Node.Ready && o.Node.KubeletVersion == expectedVersion(s, o)
}

// settling waits for the settle time, and then for a healthy kubelet, control plane and etcd. The guard stays armed: it
// watches until the slot is freed.
func settling(s State, o Observation) (State, Action) {
	end, limit := settledAt(s, o), deadline(s, o, settle(o)+CheckWithin)
	switch {
	case !isBack(s, o):
		return s.reenter(v1alpha1.StepVerifying, o), Action{}
	case o.Now.Before(end):
		return s.withReason(v1alpha1.ReasonReleased, "Ready; settling").withUntil(end), wakeAt(end)
	case o.Health == nil:
		return awaitHealth(s, o, limit, "the settle time")
	case !o.Health.OK && !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not healthy %s after the settle time: %s", CheckWithin, o.Health.Message))
	case !o.Health.OK:
		return s.withReason(v1alpha1.ReasonUnhealthy, o.Health.Message), wakeAt(limit)
	case !isWhole(s, o):
		return awaitWhole(s, o)
	case rebootStillRequired(s, o):
		return abortAndRetry(s, o, v1alpha1.ReasonRebootStillRequired, "the node rebooted, and its operating system requires another reboot: "+o.Host.RebootReason)
	case o.Host.At.Before(HostSince(s, o, "")):
		return s, Action{} // the kubelet is asked once more
	case o.Node.Marked() || holdDue(s, o):
		return s.enter(v1alpha1.StepUncordoning, o), Action{}
	}
	return inService(s, o), Action{}
}

// settledAt returns when the node has settled: settleSeconds after it was Ready.
func settledAt(s State, o Observation) time.Time { return s.steadyAt(o, settle(o)) }

// observedAt returns when the node in service has been Ready for minReadySeconds.
func observedAt(s State, o Observation) time.Time {
	return s.steadyAt(o, clusterstate.Seconds(o.Spec.MinReadySeconds))
}

// steadyAt returns when the node, which is Ready, has been so for the pause, and this agent has seen the last seenWithin of
// it. The pause counts from the later of the Node's Ready transition, which survives a restart of the agent, and the report of
// this boot's kubelet. A kubelet that reported anew, or did not renew its Lease, is seen by the step before: the pause then
// counts from this step. A time in the future, which a clock that was ahead left behind, does not count.
func (s State) steadyAt(o Observation, pause time.Duration) time.Time {
	since, ready := s.Since, o.Node.ReadySince
	back := s.backSince()
	if !ready.After(o.Now) && (ready.After(s.Since) || !back.IsZero() && ready.After(back)) {
		since = ready
	}
	return latest(since.Add(pause), o.watched(s.Since).Add(min(pause, seenWithin)))
}

// backSince returns when the reboot was requested whose first settle time this is. Zero: it is another one, or that is not
// known.
func (s State) backSince() time.Time {
	n := len(s.Steps)
	if n < 3 || s.Steps[n-1].Step != v1alpha1.StepSettling || s.Steps[n-2].Step != v1alpha1.StepVerifying || s.Steps[n-3].Step != v1alpha1.StepRebooting {
		return time.Time{}
	}
	return s.Steps[n-3].StartedAt
}

func uncordoning(s State, o Observation) (State, Action) {
	switch {
	case holdDue(s, o):
		return s, actionOf(DoHold)
	case o.Slot.Held == "" && s.guardWatches(o):
		return confirm(s, o) // without its slot, nothing else keeps another node from going out of service
	case o.Node.Marked():
		return s, actionOf(DoUncordon)
	}
	return inService(s, o), Action{}
}

// inService enters the step that follows once the node is back in service.
func inService(s State, o Observation) State {
	if clusterstate.Seconds(o.Spec.MinReadySeconds) > 0 || len(o.KeptOut) > 0 {
		return s.enter(v1alpha1.StepObserving, o)
	}
	return s.enter(v1alpha1.StepUnlocking, o)
}

// observing keeps the slot until the node has been Ready in service for minReadySeconds, and its kubelet, asked once more,
// answers. The guard may still return the node, without a drain.
func observing(s State, o Observation) (State, Action) {
	pause := clusterstate.Seconds(o.Spec.MinReadySeconds)
	end, limit := observedAt(s, o), deadline(s, o, max(pause+CheckWithin, readyWithin(o)))
	switch ready := readyAgain(o) && leaseRenewed(o); {
	case o.Slot.Held == "":
		return s.enter(v1alpha1.StepUnlocking, o), Action{}
	case ready && o.Now.Before(end):
		return s.withReason(v1alpha1.ReasonObserving, fmt.Sprintf("in service; must stay Ready for %s", pause)).withUntil(end), wakeAt(end)
	case ready && s.mayBeWatchedUnread(o):
		return awaitGuard(s, o)
	case ready && o.Host != nil && o.Host.At.Before(HostSince(s, o, "")):
		return s, Action{}
	case ready && o.Host != nil && o.Host.KubeletProblem != "":
		return unhealthyInService(s, o, limit)
	case ready && len(o.KeptOut) > 0:
		return awaitPods(s, o, end)
	case ready:
		return s.enter(v1alpha1.StepUnlocking, o), Action{}
	case readyAgain(o) && leaseMayBeRenewed(o):
		return s.withReason(v1alpha1.ReasonNodeNotReady, "in service; waits for the kubelet to renew its Lease"), Action{}
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready %s after it went back into service%s", limit.Sub(o.watched(s.Since)), guardEnded(s, o)))
	}
	return s.withReason(v1alpha1.ReasonNodeNotReady, "in service; waits for the node to be Ready again"+guardEnded(s, o)).withUntil(limit), wakeAt(limit)
}

// unhealthyInService waits for the kubelet of a node in service: until it works again, or the guard returns the node.
func unhealthyInService(s State, o Observation, limit time.Time) (State, Action) {
	if !o.Now.Before(limit) {
		return failVerified(s, o, v1alpha1.ReasonUnhealthy, "not healthy in service: "+o.Host.KubeletProblem)
	}
	return s.withReason(v1alpha1.ReasonUnhealthy, "in service: "+o.Host.KubeletProblem+guardEnded(s, o)).withUntil(limit), wakeAt(limit)
}

// readyAgain reports whether the Node is Ready, and this boot's kubelet has said so.
func readyAgain(o Observation) bool {
	return o.Node.Ready && (o.Host == nil || kubeletReported(o))
}

func unlocking(s State, o Observation) (State, Action) {
	switch {
	case s.guardWatches(o):
		return confirm(s, o)
	case o.Node.Marked():
		return s.enter(v1alpha1.StepUncordoning, o), Action{}
	case s.mayBeWatchedUnread(o):
		return awaitGuard(s, o)
	case o.Host == nil:
		return s, actionOf(DoFree)
	}
	held := o.Slot.Held
	o.Slot = Slot{}
	next := s
	if !rebooted(s, o) {
		next = next.notRebooting()
	}
	next.RetryAt = time.Time{}
	next, action := betweenAttempts(next, o)
	switch {
	case held == "":
		return next, action
	case next.endedIdle():
		return next, actionOf(DoFree)
	}
	return s, actionOf(DoFree)
}

// endedIdle reports whether the attempt is over and the node has what its order asks for. That is written
// before the slot is freed, so that one write says both: a slot that the node still holds is to be freed.
func (s State) endedIdle() bool {
	last := len(s.Steps) - 1
	return s.Step == v1alpha1.StepIdle && last >= 0 && s.Steps[last].Step == v1alpha1.StepUnlocking
}
