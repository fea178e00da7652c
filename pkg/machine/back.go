package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// verifying waits for this boot's kubelet, at the version wanted, Ready.
func verifying(s State, o Observation) (State, Action) {
	version, limit := expected(s, o), deadline(s, o, ReadyWithin)
	switch {
	case isBack(s, o):
		return s.enter(v1alpha1.StepSettling, o), Action{}
	case s.restarts() && o.Now.Before(limit):
		// The former kubelet's word stands on the Node until the new one speaks.
	case s.restarts():
		return fail(s, o, v1alpha1.ReasonRestartFailed, fmt.Sprintf("kubelet %s is not Ready %s after its restart%s", version, ReadyWithin, saidToRestart(s, o)))
	case kubeletSpeaks(o) && o.Node.KubeletVersion != version && o.Host.Active != version:
		s = fault(s, v1alpha1.ReasonWrongVersion, fmt.Sprintf("the kubelet was taken back to %s, as %s did not become healthy", o.Node.KubeletVersion, version))
		return s.enter(v1alpha1.StepRolledBack, o).say(v1alpha1.ReasonWrongVersion, s.Message), Action{}
	case kubeletSpeaks(o) && o.Node.KubeletVersion != version:
		return fail(s, o, v1alpha1.ReasonWrongVersion, fmt.Sprintf("the node came back with kubelet %s instead of %s", o.Node.KubeletVersion, version))
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonNotReadyInTime, fmt.Sprintf("the node is not Ready with kubelet %s %s after its boot", version, ReadyWithin))
	}
	return s.say(v1alpha1.ReasonNodeNotReady, "waits for kubelet "+version+" to be Ready").until(limit), wait(limit)
}

// isBack is true when the node runs what it should, after a boot where one was
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
		return s.enter(v1alpha1.StepVerifying, o), Action{}
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
	return s.enter(v1alpha1.StepUnlocking, o), Action{}
}

func uncordoning(s State, o Observation) (State, Action) {
	if o.Node.Marked() {
		return s, act(DoUncordon)
	}
	return s.enter(v1alpha1.StepUnlocking, o), Action{}
}

func unlocking(s State, o Observation) (State, Action) {
	if o.Slot.Held != "" {
		return s, act(DoFree)
	}
	if !rebooted(s, o) {
		s.RebootedFrom = ""
	}
	s.RetryAt = time.Time{}
	return quiet(s, o)
}
