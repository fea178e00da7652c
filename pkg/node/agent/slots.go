package agent

import (
	"context"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// slotSense knows the Leases of slots: which slot the node holds, and which is reserved for it.
type slotSense struct {
	*Config
	leases  slotWatch
	changes *slot.Slots
	written leaseWrite
}

func (s *slotSense) watch(wakeUp func()) {
	s.changes = slot.New(s.Account.Leases(v1alpha1.Namespace), s.Account.Nodes(), s.lease)
	s.leases.start = func(ctx context.Context, scope slotScope) *slotWatch { return s.watchScope(ctx, scope, wakeUp) }
}

// add adds the node's slots. Without them nothing may be decided: add returns an error if they could not be read.
func (s *slotSense) add(ctx context.Context, r *round) error {
	if r.node == nil {
		return nil
	}
	if err := s.leases.follow(ctx, s.scope(r)); err != nil {
		return err
	}
	r.Slot = s.of(r.node, orderedSlot(r.order))
	return nil
}

// lease returns what the watch shows of the Lease of that name, or nil.
func (s *slotSense) lease(name string) *coordinationv1.Lease {
	for _, lease := range s.leases.leases() {
		if lease.Name == name {
			return lease
		}
	}
	return nil
}

// watchScope begins a watch of the Leases in a scope, which wakes the loop.
func (s *slotSense) watchScope(ctx context.Context, scope slotScope, wakeUp func()) *slotWatch {
	w := newSlotWatch()
	w.scope = scope
	if scope == (slotScope{}) {
		synced := make(chan struct{})
		close(synced)
		w.synced = synced
		return &w
	}
	ctx, w.stop = context.WithCancel(ctx)
	informer := kube.Informer(s.Account.Leases(v1alpha1.Namespace), &coordinationv1.Lease{}, func(o *metav1.ListOptions) { slots(o, scope) })
	_ = informer.SetTransform(trim) // an informer refuses it only after it has started
	onEvents(informer, wakeUp)
	go informer.RunWithContext(ctx)
	w.store, w.synced = informer.GetStore(), informer.HasSyncedChecker().Done()
	return &w
}

// slots selects the Leases in a scope.
func slots(o *metav1.ListOptions, scope slotScope) {
	if scope.every {
		o.LabelSelector = slot.LabelSelector
	} else {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, scope.name).String()
	}
}

// scope returns which Leases to watch. Whenever the node's slot may be another one than
// its order names, that is every one. A control plane watches every one, to know whether a
// node is out of service.
func (s *slotSense) scope(r *round) slotScope {
	nu, seen := r.order, s.of(r.node, orderedSlot(r.order))
	between := r.state.Step != "" && machine.BetweenAttempts(r.state.Step)
	switch {
	case r.controlPlane:
		return slotScope{every: true}
	case seen.Held != "":
		return slotScope{name: seen.Held}
	case nu == nil:
		return slotScope{every: true}
	case nu.Spec.Slot != "":
		return slotScope{name: nu.Spec.Slot}
	case seen.Reserved != "":
		return s.leases.scope
	case nu.Spec.Release.Granted() || r.node.Annotations[v1alpha1.SlotAnnotation] != "" || nu.Status.Slot != "" || !between:
		return slotScope{every: true}
	}
	return slotScope{}
}

// of returns which slot this node holds, and which one is reserved for it, according to the
// watch. Another slot than its order or its mark names does not count: another client wrote that
// Lease, and the coordinator mends it. It skips a Lease that cannot be parsed.
func (s *slotSense) of(node *corev1.Node, ordered string) machine.Slot {
	var seen machine.Slot
	me, mark := ownerOf(node), node.Annotations[v1alpha1.SlotAnnotation]
	for _, lease := range s.leases.leases() {
		one, err := slot.FromLease(lease)
		if err != nil || ordered != "" && one.Name != ordered && one.Name != mark {
			continue
		}
		s.addHolder(&one, lease.ResourceVersion)
		if one.Holder == me && (seen.Held == "" || one.Name == mark) {
			seen.Held = one.Name
		}
		if one.ReservedFor == me && (one.Holder == clusterstate.Owner{} || one.Holder == me) {
			seen.Reserved = one.Name
		}
	}
	return seen
}

// orderedSlot returns the slot that the NodeUpgrade's order names; empty: none.
func orderedSlot(nu *v1alpha1.NodeUpgrade) string {
	if nu == nil {
		return ""
	}
	return nu.Spec.Slot
}

// anyHeld reports whether a node may be out of service for an upgrade.
func (s *slotSense) anyHeld() bool {
	return slices.ContainsFunc(s.leases.leases(), func(lease *coordinationv1.Lease) bool {
		one, err := slot.FromLease(lease)
		return err != nil || one.Holder != (clusterstate.Owner{})
	})
}

// leaseWrite is the agent's last change of a slot's holder. It counts as long as a nodeWrite does.
type leaseWrite struct {
	name   string
	before string // the resourceVersion that the watch showed
	holder clusterstate.Owner
}

// write calls write, which makes holder the slot's holder.
func (s *slotSense) write(name string, holder clusterstate.Owner, write func() error) error {
	shown := s.lease(name)
	if err := write(); err != nil || shown == nil {
		return err
	}
	s.written = leaseWrite{name: name, before: shown.ResourceVersion, holder: holder}
	return nil
}

// addHolder puts the holder that the agent has just written into the slot, which the watch shows in that
// version of its Lease.
func (s *slotSense) addHolder(one *clusterstate.Slot, version string) {
	w := s.written
	switch {
	case w.name != one.Name:
		return
	case w.before != version:
		s.written = leaseWrite{}
		return
	case one.ReservedFor == one.Holder && w.holder == (clusterstate.Owner{}):
		one.ReservedFor = clusterstate.Owner{} // freed with its reservation
	}
	one.Holder = w.holder
}

// take makes the node the holder of the slot that is reserved for it.
func (s *slotSense) take(ctx context.Context, name string, node *corev1.Node) error {
	return s.write(name, ownerOf(node), func() error { return s.changes.Take(ctx, name, ownerOf(node)) })
}

// free frees the slot.
func (s *slotSense) free(ctx context.Context, name string, node *corev1.Node) error {
	return s.write(name, clusterstate.Owner{}, func() error { return s.changes.Free(ctx, name, ownerOf(node)) })
}
