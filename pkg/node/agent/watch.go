package agent

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// trim removes what the agent never reads: the kubelet lists up to 50 images in its Node. Of managedFields
// it reads who has set the Node's cordon, and what keeps the cluster autoscaler away.
func trim(object any) (any, error) {
	o, ok := object.(metav1.Object)
	if !ok {
		return object, nil
	}
	var kept []metav1.ManagedFieldsEntry
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
		for _, entry := range node.ManagedFields {
			if sets(entry, cordonField, autoscalerField) {
				kept = append(kept, entry)
			}
		}
	}
	o.SetManagedFields(kept)
	return object, nil
}

func one[T any](informer cache.SharedIndexInformer) (none T) {
	for _, object := range informer.GetStore().List() {
		return object.(T)
	}
	return none
}

// onEvents calls kick on each event. An informer refuses handlers only after it has stopped.
func onEvents(informer cache.SharedIndexInformer, kick func()) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { kick() },
		UpdateFunc: func(any, any) { kick() },
		DeleteFunc: func(any) { kick() },
	})
}

// slotScope says which Leases of slots an agent watches: every one, one, or none.
type slotScope struct {
	every bool
	name  string
}

// slotWatch watches the Leases of slots in a scope. A worker at rest watches none, and
// otherwise its own: in a large cluster there are hundreds, which change all the time, and
// each change would go to every agent.
type slotWatch struct {
	scope slotScope
	store cache.Store
	stop  context.CancelFunc
	// next is the watch that replaces this one when it has read its scope.
	next   *slotWatch
	synced <-chan struct{} // closed once it has
	// start begins a watch of a scope. Nil: another program fills the store, with all slots.
	start func(ctx context.Context, scope slotScope) *slotWatch
}

func newSlotWatch() slotWatch {
	return slotWatch{store: cache.NewStore(cache.MetaNamespaceKeyFunc), stop: func() {}}
}

// slotSync is how long a reconcile waits for the first list of a scope.
const slotSync = 10 * time.Second

// follow changes the scope. It returns an error if the Leases could not be read in time; the
// former scope remains.
func (w *slotWatch) follow(ctx context.Context, scope slotScope) error {
	switch {
	case w.scope == scope:
		return nil
	case w.start == nil:
		w.scope = scope
		return nil
	}
	if w.next == nil || w.next.scope != scope {
		if w.next != nil {
			w.next.stop()
		}
		w.next = w.start(ctx, scope)
	}
	select {
	case <-w.next.synced:
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(slotSync):
		return fmt.Errorf("reading the slots: no answer for %s", slotSync)
	}
	w.stop()
	w.scope, w.store, w.stop, w.next = scope, w.next.store, w.next.stop, nil
	return nil
}

// leases returns the Leases in the scope.
func (w *slotWatch) leases() []*coordinationv1.Lease {
	var list []*coordinationv1.Lease
	for _, object := range w.store.List() {
		if lease := object.(*coordinationv1.Lease); w.scope.every || lease.Name == w.scope.name {
			list = append(list, lease)
		}
	}
	return list
}

// watched has an informer keep only what is read, and wake the loop.
func watched(informer cache.SharedIndexInformer, wakeUp func()) {
	_ = informer.SetTransform(trim) // an informer refuses it only after it has started
	onEvents(informer, wakeUp)
}
