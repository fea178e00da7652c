package sim

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/agent"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/observe"
)

// agentProgram is the agent of a node.
type agentProgram struct {
	program
	node  *node
	steps *agent.Steps
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
	a.init(w, "agent "+n.name)
	a.reachable = func() bool { return !n.partitioned && w.apiUp() }
	a.restart = again
	a.steps = agent.NewSteps(agent.Config{
		Node: n.name, Version: "simulated", Host: hostOf{n, a}, Install: func() error { w.checkManaged(a, "is taken over"); n.hasFiles = true; return nil },
		Account: a.clients.agents, Kubelet: a.clients.agents, Upgrades: a.clients.ours,
		Events: observe.RecorderTo(&w.recorded, n.name), Log: w.log, Output: nil, Ready: func() {}, Now: w.now,
	})
	stale := w.noise(4) == 0
	own := func(name string, _ *stored) bool { return name == n.name }
	caches := a.steps.Caches()
	a.watch("nodes", caches.Nodes, own, false) // its kubelet has read it
	a.watch("nodeupgrades", caches.NodeUpgrades, own, stale)
	a.watch("nodeinventories", caches.Inventories, own, stale)
	a.watch("leases", caches.Leases, isSlot, false) // its first list is the most recent
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
