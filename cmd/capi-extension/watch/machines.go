package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/management"
	"github.com/kubectl-upgrade/kubectl-upgrade/cmd/capi-extension/workload"
)

// Machines watches the Machines of the management cluster. Once a Machine is being deleted, or no longer
// updated in place, it takes back what was asked for it.
type Machines struct {
	Management client.WithWatch
	Open       func(context.Context, types.NamespacedName) (workload.Cluster, error)
	Log        *slog.Logger
	// Timeout is how long it may take to take back what was asked for a machine.
	Timeout time.Duration

	queue  workqueue.TypedRateLimitingInterface[departure]
	synced atomic.Bool
}

// departure is a Machine whose node is no longer to be upgraded.
type departure struct {
	machine, cluster types.NamespacedName
	node             string
}

// Synced reports whether all Machines were read.
func (m *Machines) Synced() bool { return m.synced.Load() }

// Run watches until ctx ends.
func (m *Machines) Run(ctx context.Context) {
	m.queue = workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[departure](time.Second, 5*time.Minute))
	defer m.queue.ShutDown()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			var list clusterv1.MachineList
			return &list, m.Management.List(ctx, &list, &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return m.Management.Watch(ctx, &clusterv1.MachineList{}, &client.ListOptions{Raw: &options})
		},
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, m.Management), &clusterv1.Machine{}, 0, cache.Indexers{})
	// It fails only once the informer runs.
	_ = informer.SetTransform(func(object any) (any, error) {
		if machine, ok := object.(*clusterv1.Machine); ok {
			machine.ManagedFields = nil
		}
		return object, nil
	})
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { m.look(object, false) },
		UpdateFunc: func(_, object any) { m.look(object, false) },
		DeleteFunc: func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			m.look(object, true)
		},
	})
	if err != nil {
		m.Log.ErrorContext(ctx, "Machines are not watched", "error", err)
		return
	}
	go informer.RunWithContext(ctx)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
			m.synced.Store(true)
		}
	}()
	go func() {
		<-ctx.Done()
		m.queue.ShutDown()
	}()
	for m.next(ctx) {
	}
}

// look queues a Machine of which something is to be taken back.
func (m *Machines) look(object any, gone bool) {
	machine, ok := object.(*clusterv1.Machine)
	if !ok {
		return
	}
	leaves := gone || !machine.DeletionTimestamp.IsZero() || !management.Updating(machine)
	if leaves && (management.HasMark(machine) || management.Updating(machine)) {
		m.queue.Add(departure{client.ObjectKeyFromObject(machine), management.ClusterOf(machine), machine.Status.NodeRef.Name})
	}
}

func (m *Machines) next(ctx context.Context) bool {
	left, shutdown := m.queue.Get()
	if shutdown {
		return false
	}
	defer m.queue.Done(left)
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	if err := m.takeBack(ctx, left); err != nil {
		m.Log.WarnContext(ctx, "what was asked for a Machine is not taken back yet", "machine", left.machine.String(), "node", left.node, "error", err)
		m.queue.AddRateLimited(left)
		return true
	}
	m.queue.Forget(left)
	return true
}

// takeBack withdraws a Machine's node, and then lets health checks see the Machine again.
func (m *Machines) takeBack(ctx context.Context, left departure) error {
	var cluster clusterv1.Cluster
	err := m.Management.Get(ctx, left.cluster, &cluster)
	if apierrors.IsNotFound(err) || err == nil && ptr.Deref(cluster.Spec.Paused, false) {
		return nil // clusterctl move: another management cluster has the Machine now
	}
	if err != nil {
		return fmt.Errorf("reading Cluster %s: %w", left.cluster, err)
	}
	var machine clusterv1.Machine
	err = m.Management.Get(ctx, left.machine, &machine)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading Machine %s: %w", left.machine, err)
	case machine.DeletionTimestamp.IsZero() && management.Updating(&machine):
		return nil // updated again meanwhile
	}
	if left.node != "" {
		if err := m.withdraw(ctx, left); err != nil {
			return err
		}
	}
	if machine.Name == "" {
		return nil
	}
	return management.Unmark(ctx, m.Management, &machine)
}

func (m *Machines) withdraw(ctx context.Context, left departure) error {
	cluster, err := m.Open(ctx, left.cluster)
	if apierrors.IsNotFound(err) {
		return nil // the cluster is gone
	}
	if err != nil {
		return err
	}
	requested, err := cluster.Withdraw(ctx, left.node)
	if requested {
		m.Log.InfoContext(ctx, "a node is no longer asked for", "machine", left.machine.String(), "cluster", left.cluster.String(), "node", left.node)
	}
	return client.IgnoreNotFound(err) // without our objects, no node is asked for
}
