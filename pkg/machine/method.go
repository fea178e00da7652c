package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/method"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// restarts reports whether the present attempt merges the image without a reboot:
// the node stays in service.
func (s State) restarts() bool { return s.Method == v1alpha1.MethodRestart }

// onward goes on with an attempt when kubeadm is done.
func onward(s State, o Observation) (State, Action) {
	m, why := method.Of(o.Spec.Method, o.Spec.Type, o.Node.KubeletVersion, o.Spec.Version, o.Host.RefreshBlockers)
	if why != "" {
		return insteadOfRestart(s, o, why)
	}
	s.Method = m
	if s.restarts() {
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	}
	return s.enter(v1alpha1.StepCordoning, o), Action{}
}

// insteadOfRestart has the node leave service and reboot, and says why. It lasts
// for the attempt.
func insteadOfRestart(s State, o Observation, why string) (State, Action) {
	s.Method, s.MethodMessage = v1alpha1.MethodReboot, why
	return s.enter(v1alpha1.StepCordoning, o).say(v1alpha1.ReasonReleased, "reboots instead of restarting: "+why), Action{}
}

// lastCheckInService makes the last check of a node that stays in service: what
// would break is looked at again.
func lastCheckInService(s State, o Observation) (State, Action) {
	if len(o.Host.RefreshBlockers) > 0 {
		return onward(s, o)
	}
	return flip(s, o)
}

// NeedsFreshHost reports whether Next wants the host looked at anew, since the
// step began. confProblem is what was wrong with the confs at the last look: a
// person may have mended it.
func NeedsFreshHost(s State, confProblem string) bool {
	return s.Step == v1alpha1.StepLastCheck || s.Step == v1alpha1.StepStaging && confProblem != ""
}

// restarting has the merged image refreshed and the kubelet restarted. What is
// merged after that says how the node goes on, more than what the work says of
// itself: the power may have failed meanwhile.
func restarting(s State, o Observation) (State, Action) {
	version, key, work := expected(s, o), restartKey(s, o), o.Work[verb.Restart]
	merged := o.Host.Merged == version
	ended := work.endedIn(s, key)
	switch {
	case work.Running:
		return s.say(v1alpha1.ReasonReleased, "the merged image is being refreshed and the kubelet restarted"), Action{}
	case merged && (ended || !kubeletSpeaks(o) || o.Node.KubeletVersion == version):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case lost(s, o):
		return callBack(s, o)
	case ended && o.Host.Merged == "":
		return rebootUndrained(s, o)
	case ended:
		return insteadOfRestart(s, o, "the refresh of the merged image was given up: "+work.Message)
	case o.Host.Active != version:
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	}
	return start(s, o, verb.Restart, key)
}

// rebootUndrained reboots a node with nothing merged: it has no kubelet to stop a
// pod, no network plug-in, and on Flatcar perhaps no container runtime. A reboot
// is all that helps, and the sooner the better.
func rebootUndrained(s State, o Observation) (State, Action) {
	why := "the refresh left nothing merged, so that pods cannot be asked to leave: " + o.Work[verb.Restart].Message
	if o.Slot.Held == "" {
		return abort(s, o, v1alpha1.ReasonNoSlot, why+"; the slot for the reboot that helps is not this node's any more")
	}
	s.Method, s.MethodMessage, s.RebootedFrom = v1alpha1.MethodReboot, why, o.Host.BootID
	if !cordoned(o) {
		return s.say(v1alpha1.ReasonRestartFailed, why), act(DoCordon)
	}
	return s.enter(v1alpha1.StepRebooting, o).say(v1alpha1.ReasonRestartFailed, why), act(DoReboot)
}

// restartKey names the version by what is active, as another upgrade may be
// asked for by now.
func restartKey(s State, o Observation) string {
	return fmt.Sprintf("%s %s attempt %d", expected(s, o), s.Upgrade.UID, s.Attempts)
}

// saidToRestart returns what the restart said of itself, where it failed.
func saidToRestart(s State, o Observation) string {
	if work := o.Work[verb.Restart]; work.answers(restartKey(s, o)) && !work.OK {
		return ": " + work.Message
	}
	return ""
}
