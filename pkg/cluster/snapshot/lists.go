package snapshot

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Lists are the longest lists of a cluster, for a program that plans and checks: each is read once, for
// whatever needs it first.
type Lists struct {
	nodes        onceList[corev1.Node]
	pods         onceList[preflight.Pod]
	nodeUpgrades onceList[v1alpha1.NodeUpgrade]
	inventories  onceList[v1alpha1.NodeInventory]
}

// Lists returns those of what the Reader watches, for ReadPreflight. Our own kinds are those of s, which
// is a Snapshot of the Reader.
func (r *Reader) Lists(s clusterstate.Snapshot) *Lists {
	l := &Lists{}
	l.nodes.set(values(sorted[*corev1.Node](r.nodes)))
	l.nodeUpgrades.set(s.NodeUpgrades)
	l.inventories.set(s.Inventories)
	return l
}

// onceList is a list that is read once.
type onceList[T any] struct {
	begin sync.Once
	read  chan struct{} // closed once it is
	all   []T
	err   error
}

// set sets the list, so that it is not read.
func (l *onceList[T]) set(all []T) {
	l.begin.Do(func() {
		l.read, l.all = make(chan struct{}), all
		close(l.read)
	})
}

// start begins to read the list with that context, unless that was begun.
func (l *onceList[T]) start(ctx context.Context, read func(context.Context) ([]T, error)) {
	l.begin.Do(func() {
		l.read = make(chan struct{})
		go func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			defer close(l.read)
			if l.all, l.err = read(ctx); l.err != nil {
				l.all = nil // not the pages that could be read
			}
		}()
	})
}

// get returns the list, and begins to read it if nothing has.
func (l *onceList[T]) get(ctx context.Context, read func(context.Context) ([]T, error)) ([]T, error) {
	l.start(ctx, read)
	select {
	case <-l.read:
		return l.all, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lists returns the lists that are shared, or new ones.
func (c Clients) lists() *Lists {
	if c.Lists == nil {
		return &Lists{}
	}
	return c.Lists
}

// readNodes reads the Nodes, without which nothing is known.
func (c Clients) readNodes(ctx context.Context, all *[]corev1.Node) (err error) {
	*all, err = c.lists().nodes.get(ctx, func(ctx context.Context) ([]corev1.Node, error) {
		return listed(ctx, c.Kube.CoreV1().Nodes().List, metav1.ListOptions{Limit: c.PageSize}, trimNode)
	})
	if err != nil {
		return &Unreadable{"Nodes", err}
	}
	return nil
}

// readNodeUpgrades and readInventories read our own kinds that have an object for each node.
func (c Clients) readNodeUpgrades(ctx context.Context, all *[]v1alpha1.NodeUpgrade) (err error) {
	*all, err = c.lists().nodeUpgrades.get(ctx, func(ctx context.Context) ([]v1alpha1.NodeUpgrade, error) {
		return listKind(ctx, "NodeUpgrades", c.Ours.NodeUpgrades)
	})
	return err
}

func (c Clients) readInventories(ctx context.Context, all *[]v1alpha1.NodeInventory) (err error) {
	*all, err = c.lists().inventories.get(ctx, func(ctx context.Context) ([]v1alpha1.NodeInventory, error) {
		return listKind(ctx, "NodeInventories", c.Ours.NodeInventories)
	})
	return err
}

// running selects pods that have not ended.
const running = "status.phase!=Succeeded,status.phase!=Failed"

// readPods reads the pods that a drain may evict.
func (c Clients) readPods(ctx context.Context) ([]preflight.Pod, error) {
	return c.lists().pods.get(ctx, c.listPods)
}

func (c Clients) listPods(ctx context.Context) ([]preflight.Pod, error) {
	return listed(ctx, c.Kube.CoreV1().Pods(metav1.NamespaceAll).List, metav1.ListOptions{FieldSelector: running, Limit: c.PageSize}, preflight.NewPod)
}

// readUpgrades reads the ClusterUpgrades. If one is open, ReadPreflight is about to be called.
func (c Clients) readUpgrades(ctx context.Context, all *[]v1alpha1.ClusterUpgrade) error {
	err := list(ctx, all, "ClusterUpgrades", c.Ours.ClusterUpgrades.List, "")
	if slices.ContainsFunc(*all, func(u v1alpha1.ClusterUpgrade) bool { return u.Status.Outcome == "" }) {
		c.BeginChecks(ctx)
	}
	return err
}

// BeginChecks begins to read what ReadPreflight takes longest for, if c has Lists.
func (c Clients) BeginChecks(ctx context.Context) {
	if c.Lists != nil {
		c.Lists.pods.start(ctx, c.listPods)
	}
}
