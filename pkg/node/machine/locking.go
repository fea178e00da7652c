package machine

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// rulesUnknown returns the message for rules that could not be read for HostWithin. What is
// unknown holds the node.
func rulesUnknown(o Observation) string {
	message := fmt.Sprintf("could not determine for %s whether the node may begin", HostWithin)
	if why := o.Work[verb.Etcd].StartFailure.Message; why != "" {
		message += ": " + why
	}
	return message
}

// locking asks the rules and takes the slot. Facts of the host must be recent: while the node waited, the staged
// image may have been deleted, or the need for a reboot. Before it holds the slot there is nothing
// to undo.
func locking(s State, o Observation) (State, Action) {
	switch {
	case withdrawn(s, o) && o.Slot.Held == "":
		return betweenAttempts(notLocked(s, o), o)
	case withdrawn(s, o):
		return abortWithdrawn(s, o)
	case wrongSlot(o, o.Slot.Held):
		return abort(s, o, v1alpha1.ReasonNoSlot, wrongSlotMessage(o.Slot.Held))
	case o.Host.At.Before(HostSince(s, o, "")):
		return s, Action{}
	case !Staged(o) && o.Slot.Held != "":
		return abort(s, o, v1alpha1.ReasonStaging, "the image of "+o.Spec.Version+" is not staged any more")
	case o.Slot.Held != "":
		return beginAttempt(s, o)
	case o.Slot.Reserved == "" || wrongSlot(o, o.Slot.Reserved) || !Staged(o) || done(s, o):
		return betweenAttempts(notLocked(s, o), o)
	case o.Rules == nil && !o.Now.Before(deadline(s, o, HostWithin)):
		return s.withReason(v1alpha1.ReasonRulesUnknown, rulesUnknown(o)), Action{}
	case o.Rules == nil:
		return s, Action{}
	case o.Rules.Holds():
		return s.withReason(o.Rules.Reason, o.Rules.Message).withUntil(ptr.Deref(o.Rules.Until, time.Time{})), wakeAt(o.Now.Add(rulesRound))
	}
	return s.withReason("", ""), Action{Do: DoTake, Wake: o.Now.Add(rulesRound)}
}

// notLocked goes back to Waiting with the reason why the slot was not taken.
func notLocked(s State, o Observation) State {
	reason, message, until := s.Reason, s.Message, s.Until
	return s.enter(v1alpha1.StepWaiting, o).withReason(reason, message).withUntil(until)
}

// keptFromSlot reports whether a State that waits was kept from taking its slot, for a reason that it has.
func (s State) keptFromSlot() bool {
	last := len(s.Steps) - 2
	return last >= 0 && s.Steps[last].Step == v1alpha1.StepLocking && s.Reason != "" && s.Reason != v1alpha1.ReasonAwaitingRelease
}

// beginAttempt enters the first step of a node that has taken its slot.
func beginAttempt(s State, o Observation) (State, Action) {
	s.Attempts++
	s.Method, s.MethodMessage = "", ""
	s.Rehearsal = rehearsed(s, o)
	s = s.notRebooting()
	switch {
	case needsEtcdSnapshot(s, o):
		return s.enter(v1alpha1.StepSnapshotting, o), Action{}
	case !kubeadmDone(o):
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case leavesService(s, o):
		return afterKubeadm(s, o)
	}
	return s.enter(v1alpha1.StepChecking, o), Action{}
}

// wrongSlot reports whether the slot is none that this node may take. All nodes that run an
// apiserver or a member of etcd share one slot: its Lease ensures that two of them are never out
// of service at once, whatever the labels of their Nodes say.
func wrongSlot(o Observation, slot string) bool {
	return slot != "" && slot != clusterstate.ControlPlaneSlot && o.Host != nil && o.Host.OneAtATime
}

func wrongSlotMessage(slot string) string {
	return fmt.Sprintf("this node runs a kube-apiserver or a member of etcd, and takes only %s, not %s", clusterstate.ControlPlaneSlot, slot)
}

// abortIfBlocked aborts the attempt if the node may not begin a disruptive action now.
func abortIfBlocked(s State, o Observation) (State, Action, bool) {
	switch {
	case withdrawn(s, o):
		s, a := abortWithdrawn(s.uncounted(), o)
		return s, a, true
	case o.Slot.Held == "":
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonNoSlot, "this node no longer holds the slot")
		return s, a, true
	case wrongSlot(o, o.Slot.Held):
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonNoSlot, wrongSlotMessage(o.Slot.Held))
		return s, a, true
	case o.Rules == nil && !o.Now.Before(deadline(s, o, HostWithin)):
		s, a := abort(s.uncounted(), o, v1alpha1.ReasonRulesUnknown, rulesUnknown(o))
		return s, a, true
	case o.Rules != nil && o.Rules.Holds():
		s, a := abortHeld(s.uncounted(), o)
		return s, a, true
	case wouldActivate(o):
		s, a := abortAndRetry(s.uncounted(), o, v1alpha1.ReasonNextBootDiffers, nextBootMessage(o))
		return s, a, true
	}
	return s, Action{}, false
}
