package slot

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Reap frees what a node holds or has reserved once its Node is gone, or is
// another one under the same name. It reads the Node live: a cache that lags
// must not free the slot of a node that is down. ErrNodeExists: it is there.
func (s *Slots) Reap(ctx context.Context, owner plan.Owner) error {
	node, err := s.client.CoreV1().Nodes().Get(ctx, owner.Node, metav1.GetOptions{})
	switch {
	case err == nil && string(node.UID) == owner.UID:
		return fmt.Errorf("reaping the slot of %s: %w", owner, ErrNodeExists)
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("reaping the slot of %s: reading its Node: %w", owner, err)
	}
	return s.Abandon(ctx, owner)
}

// Abandon frees what a node holds or has reserved on a person's word alone: use
// it only when somebody declared that the node will not come back.
func (s *Slots) Abandon(ctx context.Context, owner plan.Owner) error {
	if err := s.Free(ctx, owner); err != nil {
		return err
	}
	return s.Withdraw(ctx, owner)
}

// Rebuild gives each node whose mark says that it holds a slot that slot back,
// where its Lease is gone or has lost its holder. Nodes may come from a cache:
// each one that is suspect is read again live, since a node clears its mark just
// before it frees its slot. Where another node has the slot meanwhile, it is an
// error that names both: one of them has to finish first. A mark that names no
// slot is nobody's: the node's own agent clears it.
func (s *Slots) Rebuild(ctx context.Context, nodes []*corev1.Node) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	holders := map[string]plan.Owner{}
	for i := range leases {
		// One that cannot be read is an error to the node that is marked with it.
		if slot, err := FromLease(&leases[i]); err == nil {
			holders[slot.Name] = slot.Holder
		}
	}
	var problems []error
	for _, node := range nodes {
		name := node.Annotations[v1alpha1.SlotAnnotation]
		owner := plan.Owner{Node: node.Name, UID: string(node.UID)}
		if _, slot := (Slot{Name: name}).Index(); !slot || holders[name] == owner {
			continue
		}
		problems = append(problems, s.restore(ctx, name, owner))
	}
	return errors.Join(problems...)
}

func (s *Slots) restore(ctx context.Context, name string, owner plan.Owner) error {
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
	err = s.create(ctx, Slot{Name: name, ReservedFor: owner, Holder: owner})
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("rebuilding %s for %s: %w", name, owner.Node, err)
		}
		return nil
	}
	return s.change(ctx, name, func(slot *Slot) (bool, error) {
		if slot.Holder == owner {
			return false, nil
		}
		if slot.Holder != (plan.Owner{}) {
			return false, fmt.Errorf("rebuilding %s for %s: %s holds it: %w", name, owner.Node, slot.Holder.Node, ErrTaken)
		}
		// A reservation for another node that it has not taken yields: the one
		// that is marked is already out of service.
		slot.Holder, slot.ReservedFor = owner, owner
		return true, nil
	})
}
