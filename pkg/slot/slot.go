package slot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// LabelSelector selects the slots. Agents watch only these Leases.
const LabelSelector = v1alpha1.SlotLabel + "=true"

// Is reports whether the Lease is a slot, by its name or its label. One with the label and
// another name counts as surplus, and is deleted when it is free.
func Is(lease *coordinationv1.Lease) bool {
	_, is := clusterstate.SlotIndex(lease.Name)
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
func FromLease(lease *coordinationv1.Lease) (clusterstate.Slot, error) {
	s := clusterstate.Slot{Name: lease.Name, Unlabelled: !labelled(lease)}
	var err error
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		if s.Holder, err = clusterstate.ParseOwner(*holder); err != nil {
			s.Unreadable = true
			return s, fmt.Errorf("reading holder of Lease %s: %w", lease.Name, err)
		}
	}
	if reserved := lease.Annotations[v1alpha1.ReservedForAnnotation]; reserved != "" {
		if s.ReservedFor, err = clusterstate.ParseOwner(reserved); err != nil {
			s.Unreadable = true
			return s, fmt.Errorf("reading reservation of Lease %s: %w", lease.Name, err)
		}
	}
	return s, nil
}

// store sets the Lease's fields to the slot's holder and reservation.
func store(s clusterstate.Slot, lease *coordinationv1.Lease) {
	if s.ReservedFor == (clusterstate.Owner{}) {
		delete(lease.Annotations, v1alpha1.ReservedForAnnotation)
	} else {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[v1alpha1.ReservedForAnnotation] = s.ReservedFor.String()
	}
	lease.Spec.HolderIdentity = nil
	if s.Holder != (clusterstate.Owner{}) {
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

// Slots reads and writes the slots of a cluster.
type Slots struct {
	leases  kube.Leases
	nodes   kube.Nodes
	watched func(name string) *coordinationv1.Lease
}

// New returns the slots that leases reaches, those of v1alpha1.Namespace. watched returns what a watch
// shows of a Lease; nil: no watch shows it.
func New(leases kube.Leases, nodes kube.Nodes, watched func(name string) *coordinationv1.Lease) *Slots {
	return &Slots{leases: leases, nodes: nodes, watched: watched}
}

// Unwatched is for a client that watches no Lease.
func Unwatched(string) *coordinationv1.Lease { return nil }

func (s *Slots) list(ctx context.Context) ([]coordinationv1.Lease, error) {
	list, err := s.leases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing slots: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(lease coordinationv1.Lease) bool { return !Is(&lease) }), nil
}

// change reads the Lease, calls decide to change the slot, and writes it. After a conflict
// it starts again. decide returns false to leave the slot as it is; it may be called several times.
func (s *Slots) change(ctx context.Context, name string, decide func(*clusterstate.Slot) (bool, error)) error {
	return s.rewrite(ctx, name, func(slot *clusterstate.Slot, unreadable error) (bool, error) {
		if unreadable != nil {
			return false, unreadable
		}
		return decide(slot)
	})
}

// rewrite is change for a Lease that may be unreadable.
func (s *Slots) rewrite(ctx context.Context, name string, decide func(slot *clusterstate.Slot, unreadable error) (bool, error)) error {
	// What a watch shows may be old: only a change that the API server accepts counts.
	if lease := s.watched(name); lease != nil {
		changed, err := s.rewriteLease(ctx, lease.DeepCopy(), decide)
		if changed && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return retry.RetryOnConflict(backOff, func() error {
		lease, err := s.leases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading slot %s: %w", name, err)
		}
		_, err = s.rewriteLease(ctx, lease, decide)
		return err
	})
}

// rewriteLease calls decide to change the slot, and writes the Lease if it is to be changed.
func (s *Slots) rewriteLease(ctx context.Context, lease *coordinationv1.Lease, decide func(slot *clusterstate.Slot, unreadable error) (bool, error)) (changed bool, err error) {
	slot, err := FromLease(lease)
	before := slot
	if changed, err := decide(&slot, err); err != nil || !changed {
		return false, err
	}
	store(slot, lease)
	if slot.Holder != before.Holder || before.Unreadable {
		lease.Spec.AcquireTime = acquired(slot)
	}
	_, err = s.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil && !apierrors.IsConflict(err) {
		return true, fmt.Errorf("writing slot %s: %w", lease.Name, err)
	}
	return true, err
}

// changeEach changes each slot for which decide returns true. A Lease that cannot be parsed is
// left as it is.
func (s *Slots) changeEach(ctx context.Context, doing string, decide func(*clusterstate.Slot) bool) error {
	leases, err := s.list(ctx)
	if err != nil {
		return err
	}
	for i := range leases {
		slot, err := FromLease(&leases[i])
		if err != nil || !decide(&slot) {
			continue
		}
		err = s.change(ctx, slot.Name, func(slot *clusterstate.Slot) (bool, error) { return decide(slot), nil })
		if err != nil {
			return fmt.Errorf("%s %s: %w", doing, slot.Name, err)
		}
	}
	return nil
}

// backOff is the pause after a conflict: that of retry.DefaultBackoff without its jitter,
// which only client-go's many clients of one object need. A simulation stays repeatable.
var backOff = wait.Backoff{Steps: 4, Duration: 10 * time.Millisecond, Factor: 5}

func acquired(s clusterstate.Slot) *metav1.MicroTime {
	if s.Free() {
		return nil
	}
	now := metav1.NewMicroTime(time.Now())
	return &now
}
