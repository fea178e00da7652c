package slot

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// LabelSelector finds the Leases that are slots.
const LabelSelector = v1alpha1.SlotLabel + "=true"

const prefix = "slot-"

// What a caller may want to tell apart.
var (
	// ErrTaken says that the slot belongs to another node.
	ErrTaken = errors.New("the slot belongs to another node")
	// ErrNotReserved says that no slot is reserved for the node that wants one.
	ErrNotReserved = errors.New("no slot is reserved for this node")
	// ErrNodeExists says that a slot was not reaped, as its holder's Node is
	// still there.
	ErrNodeExists = errors.New("the node is still there")
)

// Slot is one place. The zero Owner is nobody.
type Slot struct {
	Name        string
	ReservedFor plan.Owner
	Holder      plan.Owner
}

// Free is true when nobody holds the slot and it is kept for nobody.
func (s Slot) Free() bool {
	return s.ReservedFor == plan.Owner{} && s.Holder == plan.Owner{}
}

// Index is the number in a slot's name, and false where the name has none.
func (s Slot) Index() (int, bool) {
	number, ok := strings.CutPrefix(s.Name, prefix)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(number)
	return i, err == nil && i >= 0 && Name(i) == s.Name
}

// Name is the name of the slot with that number, from 0.
func Name(index int) string {
	return prefix + strconv.Itoa(index)
}

// FromLease reads a slot. With an error the slot's owner cannot be known: it
// counts as taken.
func FromLease(lease *coordinationv1.Lease) (Slot, error) {
	s := Slot{Name: lease.Name}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		owner, err := plan.ParseOwner(*holder)
		if err != nil {
			return s, fmt.Errorf("reading holder of Lease %s: %w", lease.Name, err)
		}
		s.Holder = owner
	}
	if reserved := lease.Annotations[v1alpha1.ReservedForAnnotation]; reserved != "" {
		owner, err := plan.ParseOwner(reserved)
		if err != nil {
			return s, fmt.Errorf("reading reservation of Lease %s: %w", lease.Name, err)
		}
		s.ReservedFor = owner
	}
	return s, nil
}

// write puts what s says into lease.
func (s Slot) write(lease *coordinationv1.Lease) {
	if s.ReservedFor == (plan.Owner{}) {
		delete(lease.Annotations, v1alpha1.ReservedForAnnotation)
	} else {
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[v1alpha1.ReservedForAnnotation] = s.ReservedFor.String()
	}
	lease.Spec.HolderIdentity = nil
	if s.Holder != (plan.Owner{}) {
		holder := s.Holder.String()
		lease.Spec.HolderIdentity = &holder
	}
}
