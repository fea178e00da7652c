package agent

import (
	"context"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// Steps runs an agent one reconcile at a time, for a caller that has its own clock and
// fills the caches itself. Agent.Run does the same with watches.
type Steps struct{ agent *Agent }

// Caches are the stores from which an agent reads what its watches show.
type Caches struct {
	NodeUpgrades, Inventories, Nodes cache.Store
}

// WatchSlots begins a watch of all slots, or of the one with that name, and returns its store
// with what the first list has, and how to end it. A nil store: the list failed.
type WatchSlots func(every bool, name string) (store cache.Store, stop func())

// NewSteps returns the Steps of an agent that has not begun.
func NewSteps(c Config, watch WatchSlots) *Steps {
	a := New(c)
	a.leases.start = func(_ context.Context, scope slotScope) *slotWatch {
		w, synced := newSlotWatch(), make(chan struct{})
		w.scope, w.synced = scope, synced
		if scope != (slotScope{}) {
			store, stop := watch(scope.every, scope.name)
			if store == nil {
				return &w
			}
			w.store, w.stop = store, stop
		}
		close(synced)
		return &w
	}
	return &Steps{agent: a}
}

// Caches returns the stores to fill before Resume and Reconcile.
func (s *Steps) Caches() Caches {
	a := s.agent
	return Caches{
		NodeUpgrades: a.nodeUpgrades.GetStore(), Inventories: a.inventories.GetStore(),
		Nodes: a.nodes.GetStore(),
	}
}

// Resume restores the state of the last agent. It returns false if ctx ended first.
func (s *Steps) Resume(ctx context.Context) bool { return s.agent.loadState(ctx) }

// Reconcile runs steps until the node has to wait, and returns for how long at most.
func (s *Steps) Reconcile(ctx context.Context) time.Duration { return s.agent.reconcile(ctx) }

// AskUpdateEngine has the next Reconcile read update_engine's status, as a signal of
// update_engine does, and the end of the verb "facts".
func (s *Steps) AskUpdateEngine() { s.agent.engine.ask.Store(true) }

// State returns the node's progress.
func (s *Steps) State() machine.State { return s.agent.state }
