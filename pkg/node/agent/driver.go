package agent

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// Driver runs an agent one reconcile at a time, for a caller that has its own clock and
// fills the caches itself. Agent.Run does the same with watches.
type Driver struct{ agent *Agent }

// Caches are the stores from which an agent reads what its watches show.
type Caches struct {
	NodeUpgrades, Inventories, Nodes cache.Store
}

// WatchSlots begins a watch of all slots, or of the one with that name, and returns its store
// with what the first list has, and how to end it. A nil store: the list failed, and the next
// Reconcile begins it again.
type WatchSlots func(every bool, name string) (store cache.Store, stop func())

// WatchPods begins a watch of the node's pods, and returns its store and how to end it. A nil store: the
// list failed, and the next Reconcile begins it again.
type WatchPods func() (store cache.Store, stop func())

// NewDriver returns the Driver of an agent that has not begun.
func NewDriver(c Config, watch WatchSlots, watchPods WatchPods) *Driver {
	a := New(c)
	a.drain.pods.begin = func(context.Context) (cache.Store, func() bool, func()) {
		store, stop := watchPods()
		return store, func() bool { return true }, stop
	}
	a.slots.leases.start = func(_ context.Context, scope slotScope) *slotWatch {
		w, synced := newSlotWatch(), make(chan struct{})
		w.scope, w.synced = scope, synced
		if scope != (slotScope{}) {
			store, stop := watch(scope.every, scope.name)
			if store == nil {
				w.scope.name = "unread" // differs from every scope, so that follow begins it again
				return &w
			}
			w.store, w.stop = store, stop
		}
		close(synced)
		return &w
	}
	return &Driver{agent: a}
}

// Caches returns the stores to fill before Resume and Reconcile.
func (s *Driver) Caches() Caches {
	a := s.agent
	return Caches{
		NodeUpgrades: a.report.nodeUpgrades.GetStore(), Inventories: a.report.inventories.GetStore(),
		Nodes: a.kubelet.nodes.GetStore(),
	}
}

// Resume restores the state of the last agent. It returns false if ctx ended first.
func (s *Driver) Resume(ctx context.Context) bool { return s.agent.loadState(ctx) }

// Reconcile runs steps until the node has to wait, and returns for how long at most.
func (s *Driver) Reconcile(ctx context.Context) time.Duration { return s.agent.reconcile(ctx) }

// AskUpdateEngine has the next Reconcile read update_engine's status, as a signal of
// update_engine does, and the end of the verb "facts".
func (s *Driver) AskUpdateEngine() { s.agent.host.engine.ask.Store(true) }

// State returns the node's progress.
func (s *Driver) State() machine.State { return s.agent.state }
