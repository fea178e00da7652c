package slot

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Ensure makes slot-0 to slot-(n-1) exist, and removes those beyond them that
// are free. It never touches one that belongs to somebody. Call Rebuild before
// it, so that a Lease that was deleted is not made anew as a free one.
func (s *Slots) Ensure(ctx context.Context, n int) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range leases {
		there[leases[i].Name] = true
		if err := s.dropSpare(ctx, &leases[i], n); err != nil {
			return err
		}
	}
	for i := range n {
		if there[Name(i)] {
			continue
		}
		if err := s.create(ctx, Slot{Name: Name(i)}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s: %w", Name(i), err)
		}
	}
	return nil
}

// dropSpare removes a free slot that is one too many, provided that it is
// still the one that was found free.
func (s *Slots) dropSpare(ctx context.Context, lease *coordinationv1.Lease, n int) error {
	slot, err := FromLease(lease)
	index, numbered := slot.Index()
	if err != nil || !slot.Free() || (numbered && index < n) {
		return nil
	}
	err = s.leases().Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
		UID:             ptr.To(lease.UID),
		ResourceVersion: ptr.To(lease.ResourceVersion),
	}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting spare %s: %w", lease.Name, err)
	}
	return nil
}

func (s *Slots) create(ctx context.Context, slot Slot) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Name:   slot.Name,
		Labels: map[string]string{v1alpha1.SlotLabel: "true"},
	}}
	slot.write(lease)
	lease.Spec.AcquireTime = acquired(slot)
	_, err := s.leases().Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// Reserve keeps the slot for the node. It is an error (ErrTaken) when the slot
// is kept for or held by another one; to have it already is success.
func (s *Slots) Reserve(ctx context.Context, name string, owner plan.Owner) error {
	return s.change(ctx, name, func(slot *Slot) (bool, error) {
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

// Withdraw ends every reservation of the node that it has not taken. A slot
// that it holds stays its own: only the node itself knows when it is back in
// service.
func (s *Slots) Withdraw(ctx context.Context, owner plan.Owner) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range leases {
		slot, err := FromLease(&leases[i])
		if err != nil || slot.ReservedFor != owner || slot.Holder != (plan.Owner{}) {
			continue
		}
		err = s.change(ctx, slot.Name, func(slot *Slot) (bool, error) {
			if slot.ReservedFor != owner || slot.Holder != (plan.Owner{}) {
				return false, nil
			}
			slot.clear()
			return true, nil
		})
		if err != nil {
			return fmt.Errorf("withdrawing %s from %s: %w", slot.Name, owner.Node, err)
		}
	}
	return nil
}
