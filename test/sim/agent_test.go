package sim

import (
	"context"
	"net/http"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/agent"
)

// agentProgram is the agent of a node.
type agentProgram struct {
	program
	node  *node
	steps *agent.Driver
	// measure makes a request by which the agent compares its clock.
	measure http.RoundTripper
}

func (w *world) agentOf(p *program) *agentProgram {
	for _, a := range w.agents {
		if &a.program == p {
			return a
		}
	}
	return nil
}

// startAgent starts the node's agent, unless it runs. It is a pod: the kubelet starts it.
func (w *world) startAgent(n *node) {
	if a := w.agents[n.uid]; a != nil && !a.isDead || n.removed || !n.on || n.kubelet == "" {
		return
	}
	again := func() {
		w.after(5*time.Second, "start agent "+n.name, func() { w.startAgent(n) })
	}
	if n.partitioned || !w.apiUp() {
		again()
		return
	}
	a := &agentProgram{node: n}
	clock := kube.NewClock(n.now)
	a.init(w, "agent "+n.name, clock)
	none := func(request) error { return nil }
	a.measure = clock.Wrap(&transport{by: a.name, api: w.api, before: none, after: none})
	a.reachable = func() bool { return !n.partitioned && w.apiUp() }
	a.restart = again
	a.steps = agent.NewDriver(agent.Config{
		Node: n.name, Version: "simulated", Host: hostOf{n, a}, Install: func() error { w.checkManaged(a, "is taken over"); n.hasFiles = true; return nil },
		Account: a.clients.agents, Kubelet: a.clients.agents, Upgrades: a.clients.ours,
		Events: agent.RecorderTo(&w.recorded, n.name), Log: w.agentLog(n.name), Output: nil, Ready: func() {}, Now: n.now, ClockAhead: clock.Ahead,
	}, a.watchSlots, a.watchPods)
	own := func(name string, _ *stored) bool { return name == n.name }
	caches := a.steps.Caches()
	orders := a.mostRecent("nodeupgrades")
	if w.noise(4) == 0 {
		orders = min(orders, a.beforeLastWrite())
	}
	a.watch("nodes", caches.Nodes, own, a.mostRecent("nodes"))
	a.watch("nodeupgrades", caches.NodeUpgrades, own, orders)
	a.watch("nodeinventories", caches.Inventories, own, a.mostRecent("nodeinventories"))
	w.agents[n.uid] = a
	ctx, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
	defer cancel()
	if !a.steps.Resume(ctx) {
		a.kill()
		again()
		return
	}
	w.note("the agent of %s begins in step %q", n.name, a.steps.State().Step)
	a.step = func() time.Duration {
		before := a.steps.State()
		pause := a.steps.Reconcile(a.ctx)
		w.checkSettled(a, before)
		if pause >= 20*time.Second && !w.script.NoNoise {
			pause += time.Duration(w.noise(60)) * time.Second // a slow one finds more races
		}
		return pause
	}
	a.wake(0)
}

// watchSlots watches all slots or one. The first list is the most recent.
func (a *agentProgram) watchSlots(every bool, name string) (cache.Store, func()) {
	if !a.reachable() {
		return nil, nil
	}
	selects := isSlot
	if !every {
		selects = func(one string, _ *stored) bool { return one == name }
	}
	return a.watchNew("leases", selects, a.mostRecent("leases"))
}

// watchPods watches the pods of the agent's node. The first list may be old.
func (a *agentProgram) watchPods() (cache.Store, func()) {
	if !a.reachable() {
		return nil, nil
	}
	return a.watchNew("pods", func(_ string, o *stored) bool {
		return text(child(o.tree, "spec"), "nodeName") == a.node.name
	}, a.old("pods", a.w.noise(4) == 0))
}

// watchNew begins a watch that the agent ends again, and returns its store and how to end it.
func (a *agentProgram) watchNew(resource string, selects func(name string, o *stored) bool, index int) (cache.Store, func()) {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	v := a.watch(resource, store, selects, index)
	return store, func() { a.views = slices.DeleteFunc(a.views, func(other *view) bool { return other == v }) }
}

// askUpdateEngine tells the agent that update_engine's status may have changed.
func (n *node) askUpdateEngine() {
	if a := n.w.agents[n.uid]; a != nil && !a.isDead {
		a.steps.AskUpdateEngine()
	}
}

// stopAgent ends the agent, as its node does.
func (w *world) stopAgent(n *node) {
	if a := w.agents[n.uid]; a != nil {
		a.kill()
		a.restart = func() {}
	}
}

// wakeAgent schedules the agent's next run soon: a unit of its host has changed.
func (w *world) wakeAgent(n *node) {
	if a := w.agents[n.uid]; a != nil && !a.isDead {
		a.wake(time.Duration(5+w.noise(20)) * time.Millisecond)
	}
}
