package sim

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/agent"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/coordinator"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/observe"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
)

// program is a running agent or coordinator: its clients, its caches, and when it runs
// next.
type program struct {
	w         *world
	name      string
	clients   clients
	ctx       context.Context
	cancel    context.CancelFunc
	views     []*view
	wakeAt    time.Time
	running   bool
	isDead    bool
	failures  int
	traps     []trap // what is to happen at its requests
	reachable func() bool
	step      func() time.Duration
	restart   func()
	// sawSchedules is the version of the log of schedules at the last live list of this
	// run; -1: there was none.
	sawSchedules int
	ranAt        time.Time
	checked      bool // an eviction of this run was checked
}

// trap is something that happens at a request of a program.
type trap struct {
	requests int // how many requests it lets pass
	writes   bool
	after    bool // the request has its effect first
	do       func() error
}

func (p *program) dead() bool { return p.isDead }

// kill ends the program. What it asks for from now on fails.
func (p *program) kill() {
	if p.isDead {
		return
	}
	p.isDead = true
	p.cancel()
}

// before is called before each request has its effect.
func (p *program) before(r request) error {
	if p.isDead {
		return errDead
	}
	if !p.reachable() {
		return errUnreachable
	}
	if err := p.spring(r, false); err != nil {
		return err
	}
	if p.isDead {
		return errDead
	}
	if !p.reachable() {
		return errUnreachable
	}
	p.w.checkRequest(p, r)
	return nil
}

func (p *program) after(r request) error {
	if r.key.Resource == "maintenanceschedules" && r.key.Name == "" {
		p.sawSchedules = len(p.w.api.log["maintenanceschedules"])
	}
	if err := p.spring(r, true); err != nil {
		return err
	}
	if p.isDead {
		return errDead
	}
	return nil
}

// spring springs the traps that are due.
func (p *program) spring(r request, after bool) error {
	for i := range p.traps {
		t := &p.traps[i]
		if t.do == nil || t.after != after || t.writes && !r.writes() {
			continue
		}
		if t.requests > 0 {
			t.requests--
			continue
		}
		do := t.do
		t.do = nil
		return do()
	}
	return nil
}

// wake has the program run after d at the latest.
func (p *program) wake(d time.Duration) {
	at := p.w.now().Add(d)
	if p.isDead || !p.wakeAt.IsZero() && !at.Before(p.wakeAt) {
		return
	}
	p.wakeAt = at
	p.w.after(d, "run "+p.name, func() {
		if p.wakeAt.Equal(at) && !p.isDead {
			p.wakeAt = time.Time{}
			p.run()
		}
	})
}

// run runs the program once.
func (p *program) run() {
	if p.running || p.isDead {
		return
	}
	p.running, p.sawSchedules, p.checked, p.ranAt = true, -1, false, p.w.now()
	pause := p.step()
	p.running = false
	if p.isDead {
		p.w.tell("%s was killed", p.name)
		p.restart()
		return
	}
	p.wake(pause)
}

// watch adds a view to the program, filled with what is there at index of the log.
func (p *program) watch(resource string, store cache.Store, selects func(name string, o *stored) bool, stale bool) {
	v := &view{api: p.w.api, resource: resource, store: store, selects: selects}
	log := p.w.api.log[resource]
	index := len(log)
	if stale { // an apiserver that lags answers the first list
		since := p.w.now().Add(-time.Duration(p.w.noise(60)) * time.Second)
		for index > 0 && log[index-1].at.After(since) {
			index--
		}
	}
	v.list(index)
	p.views = append(p.views, v)
	if v.behind() {
		p.deliverLater(v, 5*time.Second)
	}
}

// deliverLater delivers a view's events after a while.
func (p *program) deliverLater(v *view, d time.Duration) {
	p.w.after(d, "deliver", func() {
		switch {
		case p.isDead || !v.behind():
		case p.w.now().Before(v.stalledUntil):
			p.deliverLater(v, v.stalledUntil.Sub(p.w.now()))
		case !p.reachable():
			p.deliverLater(v, 2*time.Second)
		case v.deliver():
			p.wake(time.Duration(10+p.w.noise(100)) * time.Millisecond)
		}
	})
}

// changed tells all programs of a change.
func (w *world) changed(k key) {
	for _, p := range w.programs() {
		for _, v := range p.views {
			if v.resource == k.Resource && v.next == len(w.api.log[k.Resource])-1 {
				p.deliverLater(v, time.Duration(20+w.noise(200))*time.Millisecond)
			}
		}
	}
}

// programs returns those that run, in a fixed order.
func (w *world) programs() []*program {
	var list []*program
	for _, c := range w.coordinators {
		if c != nil && !c.isDead {
			list = append(list, &c.program)
		}
	}
	for _, n := range w.nodes {
		if a := w.agents[n.uid]; a != nil && !a.isDead {
			list = append(list, &a.program)
		}
	}
	return list
}

func (p *program) init(w *world, name string) {
	p.w, p.name = w, name
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.clients = newClients(&transport{by: name, api: w.api, before: p.before, after: p.after, evict: w.evict})
}

// agentProgram is the agent of a node.
type agentProgram struct {
	program
	node  *node
	steps *agent.Steps
}

// startAgent starts the node's agent, unless it runs.
func (w *world) startAgent(n *node) {
	if a := w.agents[n.uid]; a != nil && !a.isDead || n.removed || !n.on {
		return
	}
	again := func() {
		w.after(5*time.Second, "start agent "+n.name, func() {
			if n.on && n.kubelet != "" {
				w.startAgent(n)
			}
		})
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
		Node: n.name, Version: "simulated", Host: hostOf{n, a}, Install: func() error { return nil },
		Account: a.clients.kube, Kubelet: a.clients.kube, Upgrades: a.clients.ours,
		Events: observe.RecorderTo(&record.FakeRecorder{}, n.name), Log: w.log, Output: nil, Now: w.now,
	})
	stale := w.noise(4) == 0
	own := func(name string, _ *stored) bool { return name == n.name }
	caches := a.steps.Caches()
	a.watch("nodes", caches.Nodes, own, false) // its kubelet has read it
	a.watch("nodeupgrades", caches.NodeUpgrades, own, stale)
	a.watch("nodeinventories", caches.Inventories, own, stale)
	a.watch("leases", caches.Leases, isSlot, stale)
	w.agents[n.uid] = a
	ctx, cancel := context.WithTimeout(a.ctx, 100*time.Millisecond)
	defer cancel()
	if !a.steps.Resume(ctx) {
		a.kill()
		again()
		return
	}
	w.tell("the agent of %s begins in step %q", n.name, a.steps.State().Step)
	a.step = func() time.Duration {
		pause := a.steps.Reconcile(a.ctx)
		if pause >= 20*time.Second && !w.script.Quiet {
			pause += time.Duration(w.noise(60)) * time.Second // a slow one finds more races
		}
		return pause
	}
	a.wake(0)
}

func isSlot(_ string, o *stored) bool {
	set, _ := metadata(o.tree)["labels"].(tree)
	return set[v1alpha1.SlotLabel] == "true"
}

// stopAgent ends the agent, as its node does.
func (w *world) stopAgent(n *node) {
	if a := w.agents[n.uid]; a != nil {
		a.kill()
		a.restart = func() {}
	}
}

// kickAgent has the agent run soon: a unit of its host has changed.
func (w *world) kickAgent(n *node) {
	if a := w.agents[n.uid]; a != nil && !a.isDead {
		a.wake(time.Duration(5+w.noise(20)) * time.Millisecond)
	}
}

// coordinatorProgram is a coordinator.
type coordinatorProgram struct {
	program
	steps *coordinator.Steps
}

// startCoordinator starts coordinator 0 or 1, unless it runs.
func (w *world) startCoordinator(i int) {
	if c := w.coordinators[i]; c != nil && !c.isDead {
		return
	}
	again := func() {
		w.after(time.Duration(3+w.noise(20))*time.Second, "start coordinator", func() { w.startCoordinator(i) })
	}
	if !w.apiUp() || w.now().Before(w.awayUntil) {
		again()
		return
	}
	c := &coordinatorProgram{}
	c.init(w, []string{"coordinator", "second coordinator"}[i])
	c.reachable = w.apiUp
	c.restart = func() {
		if i == 0 {
			again()
		}
	}
	var err error
	c.steps, err = coordinator.NewSteps(coordinator.Clients{
		Kube: c.clients.kube, Ours: c.clients.ours, Events: &record.FakeRecorder{}, Log: w.log, Access: c.clients.config,
		Check: func(preflight.Facts) []v1alpha1.Finding { return w.findings },
	})
	if err != nil {
		panic(err)
	}
	caches := c.steps.Caches()
	stale := w.noise(4) == 0
	c.watch("nodes", caches.Nodes, nil, stale)
	c.watch("pods", caches.Pods, func(_ string, o *stored) bool {
		set, _ := metadata(o.tree)["labels"].(tree)
		return set["component"] == "kube-apiserver" || set["component"] == "etcd"
	}, stale)
	c.watch("leases", caches.Leases, nil, stale)
	c.watch("upgradepolicies", caches.Policies, nil, stale)
	c.watch("maintenanceschedules", caches.Schedules, nil, stale)
	c.watch("clusterupgrades", caches.Upgrades, nil, stale)
	c.watch("nodeupgrades", caches.NodeUpgrades, nil, stale)
	c.watch("upgraderecords", caches.Records, nil, stale)
	c.watch("nodeinventories", caches.Inventories, nil, stale)
	w.coordinators[i] = c
	c.step = func() time.Duration {
		c.steps.Offer(w.source())
		next, err := c.steps.Sync(c.ctx, w.now())
		if err != nil {
			c.failures++
			return min(200*time.Millisecond<<min(c.failures, 6), 10*time.Second)
		}
		c.failures = 0
		if next == nil {
			return time.Minute
		}
		return max(50*time.Millisecond, min(next.Sub(w.now()), time.Minute))
	}
	w.tell("%s begins", c.name)
	c.wake(0)
}

// source is what the source of images offers.
func (w *world) source() fleet.Source {
	return fleet.Source{Offers: []fleet.Offer{{Version: w.script.To, Image: w.image()}}}
}

func (w *world) image() v1alpha1.Image {
	return v1alpha1.Image{Architecture: arch, URL: "https://images.example/" + w.script.To, Digest: v1alpha1.DigestOf(w.published)}
}

var discard = slog.New(slog.DiscardHandler)
