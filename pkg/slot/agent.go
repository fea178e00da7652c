package slot

import (
	"context"
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Take makes the node the holder of the slot, which is reserved for it. It succeeds if the node
// already holds that slot. It returns ErrNotReserved if the slot is not reserved for the node, and
// ErrTaken if another node holds it.
func (s *Slots) Take(ctx context.Context, name string, me clusterstate.Owner) error {
	return s.change(ctx, name, func(slot *clusterstate.Slot) (bool, error) {
		switch {
		case slot.Holder == me:
			return false, nil
		case slot.ReservedFor != me:
			return false, fmt.Errorf("taking %s for %s: %w", name, me.Node, ErrNotReserved)
		case slot.Holder != clusterstate.Owner{}:
			return false, fmt.Errorf("taking %s for %s: %s holds it: %w", name, me.Node, slot.Holder.Node, ErrTaken)
		}
		slot.Holder = me
		return true, nil
	})
}

// Held returns the name of the slot that the node holds, or an empty string.
func (s *Slots) Held(ctx context.Context, me clusterstate.Owner) (string, error) {
	leases, err := s.list(ctx)
	if err != nil {
		return "", err
	}
	for i := range leases {
		if slot, err := FromLease(&leases[i]); err == nil && slot.Holder == me {
			return slot.Name, nil
		}
	}
	return "", nil
}

// Free frees the slot if the node holds it, together with its reservation. A slot that is only
// reserved for the node stays reserved, and so does one for the node that comes next. Free
// succeeds if the node does not hold it.
func (s *Slots) Free(ctx context.Context, name string, me clusterstate.Owner) error {
	return ifThere(s.change(ctx, name, func(slot *clusterstate.Slot) (bool, error) { return vacate(slot, me), nil }))
}

// vacate ends the node's holding of the slot, with its reservation, and reports whether it held
// it.
func vacate(slot *clusterstate.Slot, owner clusterstate.Owner) bool {
	if slot.Holder != owner {
		return false
	}
	slot.Holder = clusterstate.Owner{}
	if slot.ReservedFor == owner {
		slot.ReservedFor = clusterstate.Owner{}
	}
	return true
}

// unreserve ends the node's reservation of a slot that it does not hold, and reports whether it
// had one. A slot that another node holds is reserved for that one again.
func unreserve(slot *clusterstate.Slot, owner clusterstate.Owner) bool {
	if slot.ReservedFor != owner || slot.Holder == owner {
		return false
	}
	slot.ReservedFor = slot.Holder
	return true
}
