package cli

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// live keeps objects up to date by watches.
type live struct {
	nodeUpgrades, upgrades, schedules cache.SharedIndexInformer
	policies, nodes                   cache.SharedIndexInformer // nil where they may not be read
	first                             objects
	changed                           chan struct{} // there is something new to look at
	stop                              context.CancelFunc
}

// watch begins to follow; first is what is known until the watches stand.
func (r *reader) watch(ctx context.Context, first objects) (*live, error) {
	ctx, stop := context.WithCancel(ctx)
	l := &live{
		nodeUpgrades: r.kinds.NodeUpgrades.Informer(""),
		upgrades:     r.kinds.ClusterUpgrades.Informer(""),
		schedules:    r.kinds.MaintenanceSchedules.Informer(""),
		first:        first,
		changed:      make(chan struct{}, 1),
		stop:         stop,
	}
	if first.policies != nil {
		l.policies = r.kinds.UpgradePolicies.Informer("")
	}
	if first.nodes != nil {
		source := cache.NewListWatchFromClient(r.core.RESTClient(), "nodes", corev1.NamespaceAll, fields.Everything())
		l.nodes = cache.NewSharedIndexInformer(source, &corev1.Node{}, 0, cache.Indexers{})
	}
	for _, informer := range l.informers() {
		if _, err := informer.AddEventHandler(l); err != nil {
			stop()
			return nil, err
		}
		go informer.RunWithContext(ctx)
	}
	return l, nil
}

func (l *live) informers() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{l.nodeUpgrades, l.upgrades, l.schedules, l.policies, l.nodes}
	return slices.DeleteFunc(all, func(informer cache.SharedIndexInformer) bool { return informer == nil })
}

// OnAdd is part of cache.ResourceEventHandler.
func (l *live) OnAdd(any, bool) { l.notify() }

// OnUpdate is part of cache.ResourceEventHandler.
func (l *live) OnUpdate(_, _ any) { l.notify() }

// OnDelete is part of cache.ResourceEventHandler.
func (l *live) OnDelete(any) { l.notify() }

func (l *live) notify() {
	select {
	case l.changed <- struct{}{}:
	default: // the last notice has not been taken yet
	}
}

// objects are the newest known.
func (l *live) objects() objects {
	for _, informer := range l.informers() {
		if !informer.HasSynced() {
			return l.first
		}
	}
	o := objects{
		upgrades:     stored[v1alpha1.ClusterUpgrade](l.upgrades),
		nodeUpgrades: stored[v1alpha1.NodeUpgrade](l.nodeUpgrades),
		schedules:    stored[v1alpha1.MaintenanceSchedule](l.schedules),
	}
	if l.policies != nil {
		o.policies = stored[v1alpha1.UpgradePolicy](l.policies)
	}
	if l.nodes != nil {
		o.nodes = stored[corev1.Node](l.nodes)
	}
	return o
}

// stored copies the objects out of the store; what they point to stays shared
// and is only read.
func stored[T any](informer cache.SharedIndexInformer) []T {
	list := informer.GetStore().List()
	values := make([]T, 0, len(list))
	for _, one := range list {
		values = append(values, *one.(*T))
	}
	return values
}
