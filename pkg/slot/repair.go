package slot

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Reap frees the slots of a node whose Node object is gone, or is another one of
// the same name. It reads the Node from the API server: a cache that lags must not
// free the slot of a node that is down. It returns ErrNodeExists if the Node is
// still there.
func (s *Slots) Reap(ctx context.Context, owner fleet.Owner) error {
	node, err := s.client.CoreV1().Nodes().Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case err == nil && string(node.UID) == owner.UID:
		return fmt.Errorf("reaping the slot of %s: %w", owner, ErrNodeExists)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reaping the slot of %s: reading its Node: %w", owner, err)
	}
	return s.Abandon(ctx, owner)
}

// Abandon frees the slots that a node holds or that are reserved for it. Use it
// only when a person declared that the node will not come back.
func (s *Slots) Abandon(ctx context.Context, owner fleet.Owner) error {
	if err := s.Free(ctx, owner); err != nil {
		return err
	}
	return s.Withdraw(ctx, owner)
}

// Rebuild makes each node whose mark names a slot the holder of that slot again,
// where its Lease is gone or has lost its holder. Nodes may come from a cache:
// each one that needs its slot back is read again from the API server, since a
// node clears its mark just before it frees its slot. Where another node holds the
// slot meanwhile, the error names both: one of them has to finish first. A mark
// that names no slot is ignored: the node's own agent clears it.
func (s *Slots) Rebuild(ctx context.Context, nodes []*corev1.Node) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	holders := map[string]fleet.Owner{}
	for i := range leases {
		// restore returns the error of one that cannot be read.
		if slot, err := FromLease(&leases[i]); err == nil {
			holders[slot.Name] = slot.Holder
		}
	}
	var problems []error
	for _, node := range nodes {
		name := node.Annotations[v1alpha1.SlotAnnotation]
		owner := fleet.Owner{Node: node.Name, UID: string(node.UID)}
		if _, slot := fleet.SlotIndex(name); !slot || holders[name] == owner {
			continue
		}
		problems = append(problems, s.restore(ctx, name, owner))
	}
	return errors.Join(problems...)
}

func (s *Slots) restore(ctx context.Context, name string, owner fleet.Owner) error {
	node, err := s.client.CoreV1().Nodes().Get(ctx, owner.Node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rebuilding %s: reading node %s: %w", name, owner.Node, err)
	}
	if string(node.UID) != owner.UID || node.Annotations[v1alpha1.SlotAnnotation] != name {
		return nil
	}
	err = s.create(ctx, fleet.Slot{Name: name, ReservedFor: owner, Holder: owner})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("rebuilding %s for %s: %w", name, owner.Node, err)
		}
		return nil
	}
	return s.change(ctx, name, func(slot *fleet.Slot) (bool, error) {
		if slot.Holder == owner {
			return false, nil
		}
		if slot.Holder != (fleet.Owner{}) {
			return false, fmt.Errorf("rebuilding %s for %s: %s holds it: %w", name, owner.Node, slot.Holder.Node, ErrTaken)
		}
		// A reservation for another node that it has not taken yields: the one
		// that is marked is already out of service.
		slot.Holder, slot.ReservedFor = owner, owner
		return true, nil
	})
}
