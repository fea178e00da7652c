package slot

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Ensure creates those of slot-0 to slot-(n-1) that are missing, and deletes free slots
// beyond them. It restores missing labels, and changes nothing else of a slot that belongs
// to a node. If one slot cannot be written, it still writes the others. Call Restore
// first, so that a Lease that was deleted while a node held it is not created again as a
// free one.
func (s *Slots) Ensure(ctx context.Context, n int) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	var problems []error
	for i := range leases {
		there[leases[i].Name] = true
		problems = append(problems, s.deleteSurplus(ctx, &leases[i], n), s.restoreLabel(ctx, &leases[i]))
	}
	for i := range n {
		if there[clusterstate.SlotName(i)] {
			continue
		}
		if err := s.create(ctx, clusterstate.Slot{Name: clusterstate.SlotName(i)}); err != nil && !apierrors.IsAlreadyExists(err) {
			problems = append(problems, fmt.Errorf("creating %s: %w", clusterstate.SlotName(i), err))
		}
	}
	return errors.Join(problems...)
}

// restoreLabel restores the label by which agents find a slot, even if the slot's owner
// cannot be parsed.
func (s *Slots) restoreLabel(ctx context.Context, lease *coordinationv1.Lease) error {
	if labelled(lease) {
		return nil
	}
	label(lease)
	_, err := s.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("labelling %s: %w", lease.Name, err)
	}
	return nil
}

// deleteSurplus deletes a free slot beyond the first n, unless it changed since it was
// read.
func (s *Slots) deleteSurplus(ctx context.Context, lease *coordinationv1.Lease, n int) error {
	slot, err := FromLease(lease)
	index, numbered := clusterstate.SlotIndex(lease.Name)
	if err != nil || !slot.Free() || (numbered && index < n) {
		return nil
	}
	err = s.leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID:             ptr.To(lease.UID),
		ResourceVersion: ptr.To(lease.ResourceVersion),
	}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting spare %s: %w", lease.Name, err)
	}
	return nil
}

func (s *Slots) create(ctx context.Context, slot clusterstate.Slot) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: slot.Name}}
	label(lease)
	store(slot, lease)
	lease.Spec.AcquireTime = acquired(slot)
	_, err := s.leases.Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// Reserve reserves the slot for the node. It returns ErrTaken if the slot is
// reserved for or held by another node, and succeeds if it is already reserved for
// this one. What a watch shows of that will do: the node cannot take a slot that is no longer
// reserved for it.
func (s *Slots) Reserve(ctx context.Context, name string, owner clusterstate.Owner) error {
	if lease := s.watched(name); lease != nil {
		if slot, err := FromLease(lease); err == nil && slot.ReservedFor == owner {
			return nil
		}
	}
	return s.change(ctx, name, func(slot *clusterstate.Slot) (bool, error) {
		if slot.ReservedFor == owner {
			return false, nil
		}
		if !slot.Free() {
			return false, fmt.Errorf("reserving %s for %s: %w", name, owner.Node, ErrTaken)
		}
		slot.ReservedFor = owner
		return true, nil
	})
}

// Withdraw removes the node's reservation of the slot. If the node has taken the slot meanwhile,
// it returns ErrTaken: only the node knows when it is back in service.
func (s *Slots) Withdraw(ctx context.Context, name string, owner clusterstate.Owner) error {
	return ifThere(s.change(ctx, name, func(slot *clusterstate.Slot) (bool, error) {
		if slot.Holder == owner {
			return false, fmt.Errorf("withdrawing %s from %s: %w", name, owner.Node, ErrTaken)
		}
		return unreserve(slot, owner), nil
	}))
}

// ifThere returns the error unless it says that the Lease does not exist.
func ifThere(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Reap frees the slots of a node whose Node object is gone or was replaced by another one
// of the same name. It reads the Node from the API server: a stale cache must not free the
// slot of a node that is down. It returns ErrNodeExists if the Node still exists.
func (s *Slots) Reap(ctx context.Context, owner clusterstate.Owner) error {
	node, err := s.nodes.Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case err == nil && string(node.UID) == owner.UID:
		return fmt.Errorf("reaping the slot of %s: %w", owner, ErrNodeExists)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reaping the slot of %s: reading its Node: %w", owner, err)
	}
	return s.Abandon(ctx, owner)
}

// Abandon frees the slots that a node holds or that are reserved for it, but none that it takes meanwhile: then it
// lives, and has begun. Call it only if a person declared that the node will not come back.
func (s *Slots) Abandon(ctx context.Context, owner clusterstate.Owner) error {
	listed := map[string]clusterstate.Owner{} // the holders
	return s.changeEach(ctx, "freeing", func(slot *clusterstate.Slot) bool {
		if _, again := listed[slot.Name]; !again {
			listed[slot.Name] = slot.Holder
		}
		if slot.Holder == owner && listed[slot.Name] != owner {
			return false
		}
		held, reserved := vacate(slot, owner), unreserve(slot, owner)
		return held || reserved
	})
}

// GiveBack frees the slot if the node holds it. Call it only for a node that has not taken it,
// whatever the Lease says.
func (s *Slots) GiveBack(ctx context.Context, name string, owner clusterstate.Owner) error {
	return s.Free(ctx, name, owner)
}

// Restore makes the node the holder of the slot again if the Lease is gone, cannot be parsed, has
// lost its holder, or names the node instead, which has not taken it. Call it only for a node that
// has taken the slot and has not freed it. It replaces another node's reservation, as this node is
// already out of service. It returns ErrTaken if a third node holds the slot.
func (s *Slots) Restore(ctx context.Context, name string, owner, instead clusterstate.Owner) error {
	err := s.create(ctx, clusterstate.Slot{Name: name, ReservedFor: owner, Holder: owner})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("restoring %s for %s: %w", name, owner.Node, err)
		}
		return nil
	}
	return s.rewrite(ctx, name, func(slot *clusterstate.Slot, unreadable error) (bool, error) {
		switch {
		case unreadable != nil:
		case slot.Holder == owner:
			return false, nil
		case slot.Holder != clusterstate.Owner{} && slot.Holder != instead:
			return false, fmt.Errorf("restoring %s for %s: %s holds it: %w", name, owner.Node, slot.Holder.Node, ErrTaken)
		}
		slot.Holder, slot.ReservedFor = owner, owner
		return true, nil
	})
}
