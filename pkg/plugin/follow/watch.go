package follow

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// programsEvery is the pause between two reads of the programs' objects.
const programsEvery = 10 * time.Second

// watch keeps objects up to date.
type watch struct {
	nodeUpgrades, upgrades, schedules cache.SharedIndexInformer
	policies, nodes                   cache.SharedIndexInformer // nil where they may not be read
	first                             view.Objects
	programs                          atomic.Pointer[view.Programs]
	changed                           chan struct{} // receives when an object has changed
	stop                              context.CancelFunc
}

// watch starts watches. first is what is known until all of them have listed.
func (f *Follower) watch(ctx context.Context, first view.Objects) (*watch, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{
		nodeUpgrades: f.Kinds.NodeUpgrades.Informer(""),
		upgrades:     f.Kinds.ClusterUpgrades.Informer(""),
		schedules:    f.Kinds.MaintenanceSchedules.Informer(""),
		first:        first,
		changed:      make(chan struct{}, 1),
		stop:         stop,
	}
	if first.Policies != nil {
		w.policies = f.Kinds.UpgradePolicies.Informer("")
	}
	if first.Nodes != nil {
		source := cache.NewListWatchFromClient(f.Core.RESTClient(), "nodes", corev1.NamespaceAll, fields.Everything())
		w.nodes = cache.NewSharedIndexInformer(source, &corev1.Node{}, 0, cache.Indexers{})
	}
	w.programs.Store(&first.Programs)
	go f.readPrograms(ctx, w)
	for _, informer := range w.informers() {
		if _, err := informer.AddEventHandler(w); err != nil {
			stop()
			return nil, err
		}
		go informer.RunWithContext(ctx)
	}
	return w, nil
}

// readPrograms reads again and again whether the programs run. While the API server does
// not answer, what was read last remains.
func (f *Follower) readPrograms(ctx context.Context, w *watch) {
	defer utilruntime.HandleCrashWithContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(programsEvery):
		}
		if programs, err := f.Programs(ctx); err == nil {
			w.programs.Store(&programs)
			w.notify()
		}
	}
}

func (w *watch) informers() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{w.nodeUpgrades, w.upgrades, w.schedules, w.policies, w.nodes}
	return slices.DeleteFunc(all, func(informer cache.SharedIndexInformer) bool { return informer == nil })
}

// OnAdd is part of cache.ResourceEventHandler.
func (w *watch) OnAdd(any, bool) { w.notify() }

// OnUpdate is part of cache.ResourceEventHandler.
func (w *watch) OnUpdate(_, _ any) { w.notify() }

// OnDelete is part of cache.ResourceEventHandler.
func (w *watch) OnDelete(any) { w.notify() }

func (w *watch) notify() {
	select {
	case w.changed <- struct{}{}:
	default: // the last one has not been received yet
	}
}

// objects returns the objects as they are now.
func (w *watch) objects() view.Objects {
	for _, informer := range w.informers() {
		if !informer.HasSynced() {
			return w.first
		}
	}
	o := view.Objects{
		Upgrades:     stored[v1alpha1.ClusterUpgrade](w.upgrades),
		NodeUpgrades: stored[v1alpha1.NodeUpgrade](w.nodeUpgrades),
		Schedules:    stored[v1alpha1.MaintenanceSchedule](w.schedules),
		Programs:     *w.programs.Load(),
	}
	if w.policies != nil {
		o.Policies = stored[v1alpha1.UpgradePolicy](w.policies)
	}
	if w.nodes != nil {
		o.Nodes = stored[corev1.Node](w.nodes)
	}
	return o
}

// stored copies the objects out of the store. What they point to is shared, and only
// read.
func stored[T any](informer cache.SharedIndexInformer) []T {
	list := informer.GetStore().List()
	values := make([]T, 0, len(list))
	for _, one := range list {
		values = append(values, *one.(*T))
	}
	return values
}
