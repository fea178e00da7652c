package slot

import (
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// LabelSelector selects the slots. Agents watch only these Leases.
const LabelSelector = v1alpha1.SlotLabel + "=true"

// Is reports whether the Lease is a slot, by its name or its label. One with the label and
// another name counts as surplus, and is deleted when it is free.
func Is(lease *coordinationv1.Lease) bool {
	_, is := fleet.SlotIndex(lease.Name)
	return is || labelled(lease)
}

func labelled(lease *coordinationv1.Lease) bool { return lease.Labels[v1alpha1.SlotLabel] == "true" }

// Errors that callers may handle.
var (
	// ErrTaken means that another node has the slot, or that the node has taken meanwhile
	// what is to be withdrawn from it.
	ErrTaken = errors.New("the slot is taken")
	// ErrNotReserved means that no slot is reserved for the node.
	ErrNotReserved = errors.New("no slot is reserved for this node")
	// ErrNodeExists means that a slot was not reaped because its holder's Node still
	// exists.
	ErrNodeExists = errors.New("the node still exists")
)

// FromLease parses a slot. If it returns an error, the slot's owner is not known: the slot
// is Unreadable, and counts as taken.
func FromLease(lease *coordinationv1.Lease) (fleet.Slot, error) {
	s := fleet.Slot{Name: lease.Name, Unlabelled: !labelled(lease)}
	var err error
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		if s.Holder, err = fleet.ParseOwner(*holder); err != nil {
			s.Unreadable = true
			return s, fmt.Errorf("reading holder of Lease %s: %w", lease.Name, err)
		}
	}
	if reserved := lease.Annotations[v1alpha1.ReservedForAnnotation]; reserved != "" {
		if s.ReservedFor, err = fleet.ParseOwner(reserved); err != nil {
			s.Unreadable = true
			return s, fmt.Errorf("reading reservation of Lease %s: %w", lease.Name, err)
		}
	}
	return s, nil
}

// store sets the Lease's fields to the slot's holder and reservation.
func store(s fleet.Slot, lease *coordinationv1.Lease) {
	if s.ReservedFor == (fleet.Owner{}) {
		delete(lease.Annotations, v1alpha1.ReservedForAnnotation)
	} else {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[v1alpha1.ReservedForAnnotation] = s.ReservedFor.String()
	}
	lease.Spec.HolderIdentity = nil
	if s.Holder != (fleet.Owner{}) {
		holder := s.Holder.String()
		lease.Spec.HolderIdentity = &holder
	}
}

func label(lease *coordinationv1.Lease) {
	if lease.Labels == nil {
		lease.Labels = map[string]string{}
	}
	lease.Labels[v1alpha1.SlotLabel] = "true"
}
