package slot

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Reap frees the slots of a node whose Node object is gone or was replaced by another one
// of the same name. It reads the Node from the API server: a stale cache must not free the
// slot of a node that is down. It returns ErrNodeExists if the Node still exists.
func (s *Slots) Reap(ctx context.Context, owner fleet.Owner) error {
	node, err := s.nodes.Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case err == nil && string(node.UID) == owner.UID:
		return fmt.Errorf("reaping the slot of %s: %w", owner, ErrNodeExists)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reaping the slot of %s: reading its Node: %w", owner, err)
	}
	return s.Abandon(ctx, owner)
}

// Abandon frees the slots that a node holds or that are reserved for it. Call it
// only if a person declared that the node will not come back.
func (s *Slots) Abandon(ctx context.Context, owner fleet.Owner) error {
	return s.changeEach(ctx, "freeing", func(slot *fleet.Slot) bool {
		held, reserved := vacate(slot, owner), unreserve(slot, owner)
		return held || reserved
	})
}

// GiveBack frees the slot if the node holds it. Call it only for a node that has not taken it,
// whatever the Lease says.
func (s *Slots) GiveBack(ctx context.Context, name string, owner fleet.Owner) error {
	return ifThere(s.change(ctx, name, func(slot *fleet.Slot) (bool, error) { return vacate(slot, owner), nil }))
}

// Restore makes the node the holder of the slot again if the Lease is gone, cannot be parsed, has
// lost its holder, or names the node instead, which has not taken it. Call it only for a node that
// has taken the slot and has not freed it. It replaces another node's reservation, as this node is
// already out of service. It returns ErrTaken if a third node holds the slot.
func (s *Slots) Restore(ctx context.Context, name string, owner, instead fleet.Owner) error {
	err := s.create(ctx, fleet.Slot{Name: name, ReservedFor: owner, Holder: owner})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("restoring %s for %s: %w", name, owner.Node, err)
		}
		return nil
	}
	return s.rewrite(ctx, name, func(slot *fleet.Slot, unreadable error) (bool, error) {
		switch {
		case unreadable != nil:
		case slot.Holder == owner:
			return false, nil
		case slot.Holder != fleet.Owner{} && slot.Holder != instead:
			return false, fmt.Errorf("restoring %s for %s: %s holds it: %w", name, owner.Node, slot.Holder.Node, ErrTaken)
		}
		slot.Holder, slot.ReservedFor = owner, owner
		return true, nil
	})
}
