package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// live keeps objects up to date by watches. An API server that is away, as the
// only control plane's is while it reboots, ends nothing: lost says so until
// it is back.
type live struct {
	reader                                       *reader
	nodeUpgrades, upgrades, schedules, coreNodes cache.SharedIndexInformer
	first                                        objects
	changed                                      chan struct{} // there is something new to look at

	mu   sync.Mutex
	lost error
}

// watch begins to follow; first is shown until the watches stand.
func (r *reader) watch(ctx context.Context, first objects) (*live, error) {
	l := &live{
		reader:       r,
		nodeUpgrades: r.kinds.NodeUpgrades.Informer(""),
		upgrades:     r.kinds.ClusterUpgrades.Informer(""),
		schedules:    r.kinds.MaintenanceSchedules.Informer(""),
		first:        first,
		changed:      make(chan struct{}, 1),
	}
	if first.nodes != nil {
		l.coreNodes = informers.NewSharedInformerFactory(r.core, 0).Core().V1().Nodes().Informer()
	}
	for _, informer := range l.informers() {
		if err := informer.SetWatchErrorHandlerWithContext(l.failed); err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(l); err != nil {
			return nil, err
		}
		go informer.RunWithContext(ctx)
	}
	go l.probe(ctx)
	return l, nil
}

func (l *live) informers() []cache.SharedIndexInformer {
	all := []cache.SharedIndexInformer{l.nodeUpgrades, l.upgrades, l.schedules}
	if l.coreNodes != nil {
		all = append(all, l.coreNodes)
	}
	return all
}

// OnAdd, OnUpdate and OnDelete are cache.ResourceEventHandler.
func (l *live) OnAdd(any, bool)   { l.notify() }
func (l *live) OnUpdate(_, _ any) { l.notify() }
func (l *live) OnDelete(any)      { l.notify() }

func (l *live) notify() {
	select {
	case l.changed <- struct{}{}:
	default: // the last notice has not been taken yet
	}
}

// failed hears of a watch that broke. Watches end now and then by themselves.
func (l *live) failed(_ context.Context, _ *cache.Reflector, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	l.setLost(err)
}

func (l *live) setLost(err error) {
	l.mu.Lock()
	l.lost = err
	l.mu.Unlock()
	l.notify()
}

func (l *live) lostWith() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// probe looks whether a lost API server is back: a watch that stands again
// says nothing while nothing changes.
func (l *live) probe(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.lostWith() == nil {
			continue
		}
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := l.reader.core.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(short)
		cancel()
		if err == nil {
			l.setLost(nil)
		}
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
	if l.coreNodes != nil {
		o.nodes = stored[corev1.Node](l.coreNodes)
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
