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

// settling waits for the settle time, and then for a healthy kubelet, control plane and etcd:
// the next node may begin as soon as the slot is free.
func settling(s State, o Observation) (State, Action) {
	settleTime := settle(o)
	end, limit := s.Since.Add(settleTime), deadline(s, o, settleTime+CheckWithin)
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
	case s.guardWatches(o):
		return confirm(s, o)
	case o.Host.At.Before(HostSince(s, o, "")):
		return s, Action{} // the kubelet is asked once more
	case o.Node.Marked() || holdDue(s, o):
		return s.enter(v1alpha1.StepUncordoning, o), Action{}
	}
	return inService(s, o), Action{}
}

func uncordoning(s State, o Observation) (State, Action) {
	switch {
	case holdDue(s, o):
		return s, actionOf(DoHold)
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

// observing keeps the slot until the node has been Ready in service for
// minReadySeconds. It counts from the Ready condition's lastTransitionTime, which
// survives a restart of the agent; it ignores a time in the future, which a clock that
// was ahead left behind.
func observing(s State, o Observation) (State, Action) {
	pause := clusterstate.Seconds(o.Spec.MinReadySeconds)
	end, limit := s.Since.Add(pause), deadline(s, o, pause+CheckWithin)
	if since := o.Node.ReadySince; since.After(s.Since) && !since.After(o.Now) {
		end = since.Add(pause)
	}
	switch ready := readyAgain(o) && leaseRenewed(o); {
	case ready && !o.Now.Before(end) && o.Slot.Held != "" && len(o.KeptOut) > 0:
		return awaitPods(s, o, latest(end, o.watched(s.Since).Add(pause)))
	case o.Slot.Held == "", ready && !o.Now.Before(end):
		return s.enter(v1alpha1.StepUnlocking, o), Action{}
	case ready:
		return s.withReason(v1alpha1.ReasonObserving, fmt.Sprintf("in service; must stay Ready for %s", pause)).withUntil(end), wakeAt(end)
	case readyAgain(o) && leaseMayBeRenewed(o):
		return s.withReason(v1alpha1.ReasonNodeNotReady, "in service; waits for the kubelet to renew its Lease"), Action{}
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready %s after it went back into service", pause+CheckWithin))
	}
	return s.withReason(v1alpha1.ReasonNodeNotReady, "waits for the node to be Ready again").withUntil(limit), wakeAt(limit)
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
