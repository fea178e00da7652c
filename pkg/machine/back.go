package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// verifying waits for this boot's kubelet, at the version wanted, Ready.
func verifying(s State, o Observation) (State, Action) {
	version := expected(s, o)
	limit, stayed := verifyLimit(s, o)
	switch {
	case isBack(s, o):
		return s.enter(v1alpha1.StepSettling, o), Action{}
	case s.restarts() && o.Now.Before(limit):
		// The former kubelet's word stands on the Node until the new one speaks.
	case s.restarts():
		return fail(s, o, v1alpha1.ReasonRestartFailed, fmt.Sprintf("kubelet %s is not Ready %s after its restart%s", version, ReadyWithin, saidToRestart(s, o)))
	case kubeletSpeaks(o) && o.Node.KubeletVersion != version && o.Host.Active != version:
		message := fmt.Sprintf("the kubelet was taken back to %s, as %s did not become healthy", o.Node.KubeletVersion, version)
		return s.enter(v1alpha1.StepRolledBack, o).say(v1alpha1.ReasonWrongVersion, message), Action{}
	case kubeletSpeaks(o) && o.Node.KubeletVersion != version:
		return fail(s, o, v1alpha1.ReasonWrongVersion, fmt.Sprintf("the node came back with kubelet %s instead of %s", o.Node.KubeletVersion, version))
	case !o.Now.Before(limit) && !stayed:
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node was Ready with kubelet %s and did not stay so for %s", version, settle(o)))
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready with kubelet %s %s after its boot", version, ReadyWithin))
	}
	return s.say(v1alpha1.ReasonNodeNotReady, "waits for kubelet "+version+" to be Ready").until(limit), wait(limit)
}

// isBack reports whether the node runs what it should, after a boot where one was
// asked for.
func isBack(s State, o Observation) bool {
	return o.Host.BootID != s.RebootedFrom && kubeletSpeaks(o) && o.Node.Ready && o.Node.KubeletVersion == expected(s, o)
}

// settling ends when the quiet time is over and the node's control plane, with
// etcd as a whole, is well: the next node may go as soon as the slot is free.
func settling(s State, o Observation) (State, Action) {
	quiet := settle(o)
	end, limit := s.Since.Add(quiet), deadline(s, o, quiet+CheckWithin)
	switch {
	case !isBack(s, o):
		return s.again(v1alpha1.StepVerifying, o), Action{}
	case o.Now.Before(end):
		return s.say(v1alpha1.ReasonReleased, "Ready; quiet time").until(end), wait(end)
	case o.Health == nil:
		return unknown(s, o, limit, "the quiet time")
	case !o.Health.OK && !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not healthy %s after the quiet time: %s", CheckWithin, o.Health.Message))
	case !o.Health.OK:
		return s.say(v1alpha1.ReasonUnhealthy, o.Health.Message), wait(limit)
	case stillRequired(s, o):
		return abortAndRetry(s, o, v1alpha1.ReasonRebootStillRequired, "the node rebooted, and its operating system asks for another reboot: "+o.Host.RebootReason)
	case o.Node.Marked():
		return s.enter(v1alpha1.StepUncordoning, o), Action{}
	}
	return inService(s, o), Action{}
}

func uncordoning(s State, o Observation) (State, Action) {
	if o.Node.Marked() {
		return s, act(DoUncordon)
	}
	return inService(s, o), Action{}
}

// inService returns the step after a node is in service again.
func inService(s State, o Observation) State {
	if seconds(o.Spec.MinReadySeconds) > 0 {
		return s.enter(v1alpha1.StepObserving, o)
	}
	return s.enter(v1alpha1.StepUnlocking, o)
}

// observing keeps the slot until the node has been Ready for a while in service.
// When it became Ready is the Node's word, so that a new agent sees it too; a time
// that is still to come is of a clock that was ahead.
func observing(s State, o Observation) (State, Action) {
	pause := seconds(o.Spec.MinReadySeconds)
	end, limit := s.Since.Add(pause), deadline(s, o, pause+CheckWithin)
	if since := o.Node.ReadySince; since.After(s.Since) && !since.After(o.Now) {
		end = since.Add(pause)
	}
	switch ready := o.Node.Ready && (o.Host == nil || kubeletSpeaks(o)); {
	case o.Slot.Held == "", ready && !o.Now.Before(end):
		return s.enter(v1alpha1.StepUnlocking, o), Action{}
	case ready:
		return s.say(v1alpha1.ReasonObserving, fmt.Sprintf("in service; has to stay Ready for %s", pause)).until(end), wait(end)
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready %s after it went back into service", pause+CheckWithin))
	}
	return s.say(v1alpha1.ReasonNodeNotReady, "waits for the node to be Ready again").until(limit), wait(limit)
}

func unlocking(s State, o Observation) (State, Action) {
	switch {
	case o.Node.Marked():
		return s.enter(v1alpha1.StepUncordoning, o), Action{}
	case o.Slot.Held != "":
		return s, act(DoFree)
	}
	if !rebooted(s, o) {
		s.RebootedFrom = ""
	}
	s.RetryAt = time.Time{}
	return quiet(s, o)
}
