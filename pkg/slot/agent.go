package slot

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Take makes the node the holder of the slot that is reserved for it, and
// returns the slot's name. To hold it already is success. ErrNotReserved:
// nothing is reserved for the node; ErrTaken: another one holds what is.
func (s *Slots) Take(ctx context.Context, me plan.Owner) (string, error) {
	name, err := s.Held(ctx, me)
	if err != nil || name != "" {
		return name, err
	}
	name, err = s.find(ctx, func(slot Slot) bool { return slot.ReservedFor == me })
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", fmt.Errorf("taking a slot for %s: %w", me.Node, ErrNotReserved)
	}
	err = s.change(ctx, name, func(slot *Slot) (bool, error) {
		switch {
		case slot.Holder == me:
			return false, nil
		case slot.ReservedFor != me:
			return false, fmt.Errorf("taking %s for %s: %w", name, me.Node, ErrNotReserved)
		case slot.Holder != plan.Owner{}:
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

// Held is the name of the slot that the node holds; empty: none.
func (s *Slots) Held(ctx context.Context, me plan.Owner) (string, error) {
	return s.find(ctx, func(slot Slot) bool { return slot.Holder == me })
}

// Free gives up every slot that the node holds, together with its reservation.
// A slot that is only reserved for it stays so. To hold none is success.
func (s *Slots) Free(ctx context.Context, me plan.Owner) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range leases {
		slot, err := FromLease(&leases[i])
		if err != nil || slot.Holder != me {
			continue
		}
		err = s.change(ctx, slot.Name, func(slot *Slot) (bool, error) {
			if slot.Holder != me {
				return false, nil
			}
			slot.clear()
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("freeing %s: %w", slot.Name, err)
		}
	}
	return nil
}

func (s *Slot) clear() {
	s.Holder, s.ReservedFor = plan.Owner{}, plan.Owner{}
}

// find returns the name of the first slot that matches, or none. A Lease that
// cannot be read belongs to somebody, though nobody knows to whom.
func (s *Slots) find(ctx context.Context, match func(Slot) bool) (string, error) {
	leases, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	for i := range leases {
		if slot, err := FromLease(&leases[i]); err == nil && match(slot) {
			return slot.Name, nil
		}
	}
	return "", nil
}
