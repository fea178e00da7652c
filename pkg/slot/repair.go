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
	if err := s.Free(ctx, owner); err != nil {
		return err
	}
	return s.Withdraw(ctx, owner)
}

// Restore makes the node the holder of the slot again if the Lease is gone or has lost its
// holder. Call it only for a node that has taken the slot and has not freed it. It replaces
// another node's reservation, as this node is already out of service. It returns ErrTaken
// if another node holds the slot.
func (s *Slots) Restore(ctx context.Context, name string, owner fleet.Owner) error {
	err := s.create(ctx, fleet.Slot{Name: name, ReservedFor: owner, Holder: owner})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("restoring %s for %s: %w", name, owner.Node, err)
		}
		return nil
	}
	return s.change(ctx, name, func(slot *fleet.Slot) (bool, error) {
		if slot.Holder == owner {
			return false, nil
		}
		if slot.Holder != (fleet.Owner{}) {
			return false, fmt.Errorf("restoring %s for %s: %s holds it: %w", name, owner.Node, slot.Holder.Node, ErrTaken)
		}
		slot.Holder, slot.ReservedFor = owner, owner
		return true, nil
	})
}
