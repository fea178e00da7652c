package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// gateUnknown is told where there is no answer for so long. What is not known keeps
// the gate closed.
func gateUnknown(o Observation) string {
	message := fmt.Sprintf("for %s it could not be found out whether the node may begin", HostWithin)
	if why := o.Work[verb.Etcd].Unstarted.Message; why != "" {
		message += ": " + why
	}
	return message
}

// locking asks the gate and takes the slot. Up to the slot nothing has to be
// undone.
func locking(s State, o Observation) (State, Action) {
	switch {
	case withdrawn(s, o) && o.Slot.Held == "":
		return quiet(s.enter(v1alpha1.StepWaiting, o), o)
	case withdrawn(s, o):
		return callBack(s, o)
	case o.Gate == nil && !o.Now.Before(deadline(s, o, HostWithin)) && o.Slot.Held != "":
		return abort(s, o, v1alpha1.ReasonGateUnknown, gateUnknown(o))
	case o.Gate == nil && !o.Now.Before(deadline(s, o, HostWithin)):
		return s.say(v1alpha1.ReasonGateUnknown, gateUnknown(o)), Action{}
	case o.Gate == nil:
		return s, Action{}
	case !o.Gate.Open && o.Slot.Held != "":
		return closed(s, o)
	case !o.Gate.Open:
		return s.say(o.Gate.Reason, o.Gate.Message).until(o.Gate.Until), wait(o.Now.Add(gateRound))
	case o.Slot.Held == "" && !o.Slot.Reserved:
		return quiet(s.enter(v1alpha1.StepWaiting, o), o)
	case o.Slot.Held == "":
		return s.say("", ""), Action{Do: DoTake, Wake: o.Now.Add(gateRound)}
	}
	s.Attempts++
	s.RebootedFrom, s.Method, s.MethodMessage = "", "", ""
	switch {
	case wantsSnapshot(s, o):
		return s.enter(v1alpha1.StepSnapshotting, o), Action{}
	case !kubeadmDone(o):
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case o.Spec.Release == v1alpha1.ReleaseNode:
		return onward(s, o)
	}
	return s.enter(v1alpha1.StepChecking, o), Action{}
}

// snapshotting goes before the first kubeadm of an upgrade. What is taken is
// written down before kubeadm begins.
func snapshotting(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Snapshot]
	ended := work.endedIn(s, key)
	switch {
	case work.Running:
		return s.say(v1alpha1.ReasonReleased, "a snapshot of etcd is being taken"), Action{}
	case !wantsSnapshot(s, o):
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case ended && work.OK && o.EtcdSnapshot != nil:
		s.Snapshot = o.EtcdSnapshot
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case ended:
		return abortAndRetry(s, o, v1alpha1.ReasonSnapshotFailed, work.Message)
	}
	if s, stop, halted := mayNotBegin(s, o); halted {
		return s, stop
	}
	if o.Gate == nil {
		return s, Action{}
	}
	return start(s, o, verb.Snapshot, key)
}

// wantsSnapshot is true until there is one for this upgrade. Behind kubeadm it
// would be too late.
func wantsSnapshot(s State, o Observation) bool {
	return o.Spec.EtcdSnapshot && o.Host.ControlPlane && s.Snapshot == nil && !kubeadmDone(o)
}

// kubeadm runs to its end once it runs: it cannot be stopped half-way.
func kubeadm(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Kubeadm]
	ended := work.endedIn(s, key)
	switch {
	case work.Running:
		return s.say(v1alpha1.ReasonReleased, "kubeadm is running"), Action{}
	case kubeadmDone(o), ended && work.OK:
		s.KubeadmLog = ""
		if o.Spec.Release == v1alpha1.ReleaseNode && !withdrawn(s, o) {
			return onward(s, o)
		}
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case ended:
		s.KubeadmLog = work.Log
		return abortAndRetry(s, o, work.Reason, work.Message)
	case withdrawn(s, o) && work.OK && !work.FinishedAt.Before(s.Since):
		// It was running when the record of what it was for was lost.
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case wantsSnapshot(s, o):
		return s.enter(v1alpha1.StepSnapshotting, o), Action{}
	}
	if s, stop, halted := mayNotBegin(s, o); halted {
		return s, stop
	}
	if o.Gate == nil {
		return s, Action{}
	}
	return start(s, o, verb.Kubeadm, key)
}

// checking ends pass 1. The slot is kept until all is well again.
func checking(s State, o Observation) (State, Action) {
	limit := deadline(s, o, CheckWithin)
	switch {
	case o.Health == nil:
		return unknown(s, o, limit, "kubeadm")
	case o.Health.OK:
		return s.uncounted().enter(v1alpha1.StepUnlocking, o), Action{} // the node was in service all the time
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not healthy %s after kubeadm: %s", CheckWithin, o.Health.Message))
	}
	return s.say(v1alpha1.ReasonUnhealthy, o.Health.Message), wait(limit)
}

// unknown waits for health that is not known. Behind the limit for bad health the
// answer may still be on its way; then a person has to look.
func unknown(s State, o Observation, limit time.Time, after string) (State, Action) {
	limit = limit.Add(AnswerWithin)
	if !o.Now.Before(limit) {
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not known to be healthy %s after %s: there is no answer about the control plane", CheckWithin+AnswerWithin, after))
	}
	return s, wait(limit)
}

// mayNotBegin gives up where something stands against beginning anything that
// disturbs.
func mayNotBegin(s State, o Observation) (State, Action, bool) {
	switch {
	case withdrawn(s, o):
		s, a := callBack(s.uncounted(), o)
		return s, a, true
	case o.Slot.Held == "":
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonNoSlot, "the slot is not this node's any more")
		return s, a, true
	case o.Gate == nil && !o.Now.Before(deadline(s, o, HostWithin)):
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonGateUnknown, gateUnknown(o))
		return s, a, true
	case o.Gate != nil && !o.Gate.Open:
		s, a := closed(s.uncounted(), o)
		return s, a, true
	case wouldActivate(o):
		s, a := abortAndRetry(s.uncounted(), o, v1alpha1.ReasonNextBootDiffers, nextBoot(o))
		return s, a, true
	}
	return s, Action{}, false
}
