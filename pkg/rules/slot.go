package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// MayKeepSlot reports whether the node that a Lease names as the slot's holder may have taken it:
// it is out of service with it, about to begin with it, or that is not known. If not, another
// client wrote the Lease. u is the node's NodeUpgrade, or nil, and hasAgent whether an agent has
// ever reported the node's facts.
//
// A node between attempts which knows that it is not released does not begin, so the slot may be
// taken from it. A worker at rest watches no Lease, and would never give it back itself.
func MayKeepSlot(u *v1alpha1.NodeUpgrade, hasAgent bool, slotAnnotation, slot string) bool {
	if u == nil {
		u = &v1alpha1.NodeUpgrade{}
	}
	reason, _ := u.Status.Cause()
	phase := u.Status.Step.Info().Phase
	switch {
	case leftAlone(u):
		return false
	case slotAnnotation == slot:
		return true
	case u.Spec.Slot == slot && u.Spec.Release.Granted():
		return true
	case u.Status.Step == "":
		return hasAgent
	case u.Status.ObservedGeneration != u.Generation, reason == v1alpha1.ReasonHostUnreachable:
		return true
	case phase == v1alpha1.PhaseInService || phase == v1alpha1.PhaseUnsupported:
		return false
	}
	return u.Spec.Slot == slot || u.Spec.Slot == ""
}

// leftAlone reports whether the node is not managed, and its agent knows that and has found nothing of
// kubectl-upgrade on it: an annotation on its Node is not of an upgrade. Its kubelet may have set that.
func leftAlone(u *v1alpha1.NodeUpgrade) bool {
	return u.Generation > 0 && u.Status.ObservedGeneration == u.Generation && !u.Spec.Managed &&
		meta.IsStatusConditionFalse(u.Status.Conditions, v1alpha1.ConditionManaged)
}

// UsesSlot reports whether the node's order names the slot, and the node may begin with it or has
// not ended its attempt with it.
func UsesSlot(u *v1alpha1.NodeUpgrade, slotAnnotation, slot string) bool {
	phase := u.Status.Step.Info().Phase
	began := phase != v1alpha1.PhaseInService && phase != v1alpha1.PhaseUnsupported
	return u.Abandoned == nil && u.Spec.Slot == slot && (began || u.Spec.Release.Granted() || slotAnnotation == slot)
}

// TookSlot reports whether the node with that NodeUpgrade, and that slot annotation on
// its Node, has taken the slot reserved for it and has not freed it. If the Lease
// disagrees, another client deleted or changed it.
//
// Annotation and status count only for the slot in the NodeUpgrade's spec, because a node
// may write both itself. Before the cordon, and for a restart without one, there is no
// annotation.
func TookSlot(u *v1alpha1.NodeUpgrade, slotAnnotation string) bool {
	if _, slot := clusterstate.SlotIndex(u.Spec.Slot); !slot || u.Abandoned != nil {
		return false
	}
	if !freedSlot(u.Status.Steps) {
		switch u.Status.Step {
		case v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking,
			v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling,
			v1alpha1.StepFailed, v1alpha1.StepRolledBack:
			return true
		}
	}
	return slotAnnotation == u.Spec.Slot
}

// freedSlot reports whether a node has freed its slot since it took one, or is about to. Later it may enter a
// step without a slot, for an annotation that another client put on its Node.
func freedSlot(steps []v1alpha1.StepTime) bool {
	for i, step := range slices.Backward(steps) {
		switch step.Step {
		case v1alpha1.StepLocking:
			return false
		case v1alpha1.StepUnlocking:
			return step.EndTime != nil
		case v1alpha1.StepAborting: // it may also end as Failed, with the slot
			return i+1 < len(steps) && steps[i+1].Step == v1alpha1.StepWaiting
		}
	}
	return false
}
