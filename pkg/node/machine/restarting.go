package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// restarts reports whether this attempt merges the image without a reboot. The node
// then stays in service.
func (s State) restarts() bool { return s.Method == v1alpha1.MethodRestart }

// afterKubeadm chooses the method and enters the next step of pass 2.
func afterKubeadm(s State, o Observation) (State, Action) {
	m, why := chooseMethod(o)
	if why != "" {
		return rebootInstead(s, o, why)
	}
	s.Method = m
	if s.restarts() {
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	}
	return s.enter(v1alpha1.StepCordoning, o), Action{}
}

// rebootInstead switches this attempt to Reboot, before it drains the node.
func rebootInstead(s State, o Observation, why string) (State, Action) {
	s.Method, s.MethodMessage = v1alpha1.MethodReboot, why
	return s.enter(v1alpha1.StepCordoning, o).withReason(v1alpha1.ReasonReleased, "reboots instead of "+doing[o.Spec.Method]+": "+why), Action{}
}

// doing is what a node does by the other methods.
var doing = map[v1alpha1.Method]string{v1alpha1.MethodRestart: "restarting", v1alpha1.MethodSoftReboot: "soft-rebooting"}

// lastCheckRestart is the last check of an attempt by Restart: it checks the mounts that
// a refresh would break again.
func lastCheckRestart(s State, o Observation) (State, Action) {
	if len(o.Host.Node.RefreshBlockers) > 0 {
		return afterKubeadm(s, o)
	}
	if s = s.writtenDown(o); s.Parts == nil {
		return s, Action{}
	}
	return requestActivate(s, o)
}

// restarting refreshes the merged image and restarts the kubelet. The next step depends
// on what is merged afterwards rather than on the verb's result: the power may have
// failed meanwhile.
func restarting(s State, o Observation) (State, Action) {
	version, key, work := expectedVersion(s, o), restartKey(s, o), o.Work[verb.Restart]
	merged := o.Host.Merged == version
	ended := work.endedInStep(s, key)
	switch {
	case work.Running:
		return s.withReason(v1alpha1.ReasonReleased, "the merged image is being refreshed and the kubelet restarted"), Action{}
	case merged && (ended || !kubeletReported(o) || o.Node.KubeletVersion == version):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case abandoned(s, o):
		return abortWithdrawn(s, o)
	case ended && o.Host.Merged == "":
		return rebootWithoutDrain(s, o)
	case ended:
		return rebootInstead(s, o, "the refresh of the merged image was aborted: "+work.Message)
	case o.Host.Active != version:
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	}
	return withWork(s, o, verb.Restart, key)
}

// rebootWithoutDrain reboots a node that has nothing merged: it has no kubelet to stop a
// pod, no network plug-in, and on Flatcar perhaps no container runtime. Only a reboot
// helps.
func rebootWithoutDrain(s State, o Observation) (State, Action) {
	why := "the refresh left nothing merged, so pods cannot be evicted: " + o.Work[verb.Restart].Message
	if o.Slot.Held == "" {
		return abort(s, o, v1alpha1.ReasonNoSlot, why+"; a reboot would help, but this node no longer holds a slot")
	}
	s.Method, s.MethodMessage = v1alpha1.MethodReboot, why
	s = s.rebootsFrom(o)
	if !cordoned(o) {
		return s.withReason(v1alpha1.ReasonRestartFailed, why), actionOf(DoCordon)
	}
	return s.enter(v1alpha1.StepRebooting, o).withReason(v1alpha1.ReasonRestartFailed, why), actionOf(DoReboot)
}

// restartKey returns the key of this attempt's restart. The version is the active one, as
// another upgrade may be requested by now.
func restartKey(s State, o Observation) string {
	return fmt.Sprintf("%s %s attempt %d", expectedVersion(s, o), s.Upgrade.UID, s.Attempts)
}

// restartFailure returns the message of a failed restart.
func restartFailure(s State, o Observation) string {
	if work := o.Work[verb.Restart]; work.ended(restartKey(s, o)) && !work.OK {
		return ": " + work.Message
	}
	return ""
}
