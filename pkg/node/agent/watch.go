package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// watch creates the informers, each as narrow as possible, so that nodes do not watch each
// other.
func (a *Agent) watch() {
	a.nodeUpgrades = a.Upgrades.NodeUpgrades.Informer(a.Node)
	a.inventories = a.Upgrades.NodeInventories.Informer(a.Node)
	a.nodes = kube.Informer(a.Kubelet.Nodes(), &corev1.Node{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, a.Node).String()
	})
	a.leases = newSlotWatch()
	a.leases.start = a.watchSlots
	for _, informer := range a.watches() {
		_ = informer.SetTransform(trim) // an informer refuses it only after it has started
		addKick(informer, a.wakeUp)
	}
}

// trim removes what the agent never reads: the kubelet lists up to 50 images in its Node. Of managedFields
// it reads who has set the Node's cordon.
func trim(object any) (any, error) {
	o, ok := object.(metav1.Object)
	if !ok {
		return object, nil
	}
	var kept []metav1.ManagedFieldsEntry
	if node, ok := object.(*corev1.Node); ok {
		node.Status.Images = nil
		kept = cordonSetters(node)
	}
	o.SetManagedFields(kept)
	return object, nil
}

func (a *Agent) watches() []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{a.nodeUpgrades, a.inventories, a.nodes}
}

// startWatches starts the informers and waits for their caches. It returns false if ctx
// ended first.
func (a *Agent) startWatches(ctx context.Context) bool {
	var synced []cache.InformerSynced
	for _, informer := range a.watches() {
		go informer.RunWithContext(ctx)
		synced = append(synced, informer.HasSynced)
	}
	return cache.WaitForCacheSync(ctx.Done(), synced...)
}

// addKick calls kick on each event. An informer refuses handlers only after it has stopped.
func addKick(informer cache.SharedIndexInformer, kick func()) {
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { kick() },
		UpdateFunc: func(any, any) { kick() },
		DeleteFunc: func(any) { kick() },
	})
}

// watchHost kicks when a unit on the host changes. The bus may be unreachable.
func (a *Agent) watchHost(ctx context.Context) {
	for ctx.Err() == nil {
		changes, err := a.Host.Changes(ctx)
		if err != nil {
			a.Log.WarnContext(ctx, "watching the host's units", "node", a.Node, "error", err)
			sleep(ctx, maxPause)
			continue
		}
		for change := range changes {
			if change.Verb == verb.Kubeadm {
				a.kubeadm.wakeUp()
			}
			if change.UpdateEngine || change.Verb == verb.Facts {
				a.engine.ask.Store(true)
			}
			a.wakeUp()
		}
		sleep(ctx, afterError)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// podWatch watches the node's own pods, as the kubelet, which may watch no others.
type podWatch struct {
	store  cache.Store // nil: nothing is watched
	synced func() bool
	stop   func()
	// begin begins the watch. A nil store: it has not begun.
	begin func(ctx context.Context) (store cache.Store, synced func() bool, stop func())
}

func (w *podWatch) start(ctx context.Context) {
	if w.store == nil {
		w.store, w.synced, w.stop = w.begin(ctx)
	}
}

func (w *podWatch) end() {
	if w.store != nil {
		w.stop()
		*w = podWatch{begin: w.begin}
	}
}

// gone reports whether the watch shows none of these pods any more.
func (w *podWatch) gone(pods []types.UID) bool {
	return len(pods) > 0 && w.store != nil && w.synced() && !slices.ContainsFunc(w.store.List(), func(object any) bool {
		return slices.Contains(pods, object.(*corev1.Pod).UID)
	})
}

// watchPods begins a watch of the node's pods, which wakes the loop.
func (a *Agent) watchPods(ctx context.Context) (store cache.Store, synced func() bool, stop func()) {
	ctx, stop = context.WithCancel(ctx)
	informer := kube.Informer(a.Kubelet.Pods(metav1.NamespaceAll), &corev1.Pod{}, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", a.Node).String()
	})
	// Only the pods' identity is needed.
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}, nil
		}
		return object, nil
	})
	addKick(informer, a.wakeUp)
	go informer.RunWithContext(ctx)
	return informer.GetStore(), informer.HasSynced, stop
}

var _ Host = (*host.Client)(nil)

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

// watchedLease returns what the watch shows of the Lease of that name, or nil.
func (a *Agent) watchedLease(name string) *coordinationv1.Lease {
	for _, lease := range a.leases.leases() {
		if lease.Name == name {
			return lease
		}
	}
	return nil
}

// watchSlots begins a watch of the Leases in a scope, which wakes the loop.
func (a *Agent) watchSlots(ctx context.Context, scope slotScope) *slotWatch {
	w := newSlotWatch()
	w.scope = scope
	if scope == (slotScope{}) {
		synced := make(chan struct{})
		close(synced)
		w.synced = synced
		return &w
	}
	ctx, w.stop = context.WithCancel(ctx)
	informer := kube.Informer(a.Account.Leases(v1alpha1.Namespace), &coordinationv1.Lease{}, func(o *metav1.ListOptions) { slots(o, scope) })
	_ = informer.SetTransform(trim) // an informer refuses it only after it has started
	addKick(informer, a.wakeUp)
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

// slotScope returns which Leases to watch. Whenever the node's slot may be another one than
// its order names, that is every one. A control plane watches every one, to know whether a
// node is out of service.
func (a *Agent) slotScope(nu *v1alpha1.NodeUpgrade, node *corev1.Node) slotScope {
	seen, between := a.slot(node, orderedSlot(nu)), a.state.Step != "" && machine.BetweenAttempts(a.state.Step)
	switch {
	case a.onControlPlane():
		return slotScope{every: true}
	case seen.Held != "":
		return slotScope{name: seen.Held}
	case nu == nil:
		return slotScope{every: true}
	case nu.Spec.Slot != "":
		return slotScope{name: nu.Spec.Slot}
	case seen.Reserved != "":
		return a.leases.scope
	case nu.Spec.Release.Granted() || node.Annotations[v1alpha1.SlotAnnotation] != "" || nu.Status.Slot != "" || !between:
		return slotScope{every: true}
	}
	return slotScope{}
}
