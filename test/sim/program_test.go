package sim

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
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
	traps     []trap // faults at its requests
	reachable func() bool
	step      func() time.Duration
	restart   func()
	// sawSchedules is the version of the log of schedules at the last live list of this
	// run; -1: there was none.
	sawSchedules int
	ranAt        time.Time
	checked      bool // an eviction of this run was checked
}

// trap is a fault at a request of a program.
type trap struct {
	requests int // how many requests it lets pass
	writes   bool
	after    bool                 // the request has its effect first
	only     func(r request) bool // nil: any
	do       func() error
}

var errDead = errors.New("the program was killed")

var errLost = errors.New("the reply was lost")

func (p *program) init(w *world, name string, clock *kube.Clock) {
	p.w, p.name = w, name
	p.ctx, p.cancel = context.WithCancel(context.Background())
	t := &transport{by: name, api: w.api, turns: w.turns, before: p.before, after: p.after, evict: w.evict, renew: w.showRenewal,
		refused: func(r request, err error) { w.checkRefused(name, r, err) }}
	if node, is := strings.CutPrefix(name, "agent "); is {
		t.lies = func() *liar { return w.liars[node] }
	}
	p.clients = newClients(t, clock.Wrap)
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
	if !r.writes() {
		p.w.reads = append(p.w.reads, access{p.name, r.key.Resource})
	}
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
		if t.do == nil || t.after != after || t.writes && !r.writes() || t.only != nil && !t.only(r) {
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

// wake schedules the program's next run after d, or keeps an earlier one.
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
		p.w.note("%s was killed", p.name)
		p.restart()
		return
	}
	p.wake(pause)
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

func (w *world) program(name string) *program {
	for _, p := range w.programs() {
		if p.name == name {
			return p
		}
	}
	return nil
}
