package slot

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Take makes the node the holder of the slot that is reserved for it, and returns
// the slot's name. It succeeds if the node already holds the slot. It returns
// ErrNotReserved if no slot is reserved for the node, and ErrTaken if another node
// holds the one that is.
func (s *Slots) Take(ctx context.Context, me fleet.Owner) (string, error) {
	leases, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	if held := heldBy(leases, me); held != "" {
		return held, nil
	}
	name := first(leases, func(slot fleet.Slot) bool { return slot.ReservedFor == me })
	if name == "" {
		return "", fmt.Errorf("taking a slot for %s: %w", me.Node, ErrNotReserved)
	}
	err = s.change(ctx, name, func(slot *fleet.Slot) (bool, error) {
		switch {
		case slot.Holder == me:
			return false, nil
		case slot.ReservedFor != me:
			return false, fmt.Errorf("taking %s for %s: %w", name, me.Node, ErrNotReserved)
		case slot.Holder != fleet.Owner{}:
			return false, fmt.Errorf("taking %s for %s: %s holds it: %w", name, me.Node, slot.Holder.Node, ErrTaken)
		}
		slot.Holder = me
		return true, nil
	})
	if err != nil {
		return "", err
	}
	return name, nil
}

// Held returns the name of the slot that the node holds, or an empty string.
func (s *Slots) Held(ctx context.Context, me fleet.Owner) (string, error) {
	leases, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	return heldBy(leases, me), nil
}

// heldBy returns the name of the slot that the node holds, or an empty string.
func heldBy(leases []coordinationv1.Lease, me fleet.Owner) string {
	return first(leases, func(slot fleet.Slot) bool { return slot.Holder == me })
}

// Free frees every slot that the node holds, together with its reservation. A
// slot that is only reserved for the node stays reserved. Free succeeds if the node
// holds none.
func (s *Slots) Free(ctx context.Context, me fleet.Owner) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range leases {
		slot, err := FromLease(&leases[i])
		if err != nil || slot.Holder != me {
			continue
		}
		err = s.change(ctx, slot.Name, func(slot *fleet.Slot) (bool, error) {
			if slot.Holder != me {
				return false, nil
			}
			reset(slot)
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("freeing %s: %w", slot.Name, err)
		}
	}
	return nil
}

// first returns the name of the first slot that matches, or an empty string. A Lease that
// cannot be parsed never matches.
func first(leases []coordinationv1.Lease, match func(fleet.Slot) bool) string {
	for i := range leases {
		if slot, err := FromLease(&leases[i]); err == nil && match(slot) {
			return slot.Name
		}
	}
	return ""
}
