package sim

import (
	"time"
)

// injectProgram injects a fault into a program.
func (w *world) injectProgram(f fault) {
	p := w.program(f.Who)
	if p == nil {
		return
	}
	switch f.Kind {
	case "crash agent", "crash coordinator":
		p.traps = append(p.traps, trap{requests: f.Number, writes: f.Number%2 == 0, after: f.After, do: func() error {
			w.note("%s is killed", p.name)
			p.kill()
			return errDead
		}})
	case "lose reply":
		p.traps = append(p.traps, trap{requests: f.Number / 2, writes: true, after: true, do: func() error { return errLost }})
	case "interleave":
		p.traps = append(p.traps, trap{requests: f.Number, after: f.After, do: func() error {
			w.between(f.Other)
			return nil
		}})
	case "stall":
		for i, v := range p.views {
			if f.After || i == f.Number%len(p.views) {
				v.stalledUntil = w.now().Add(f.For)
			}
		}
	case "miss":
		v := p.views[f.Number%len(p.views)]
		if log := w.api.log[v.resource]; len(log) > 0 {
			v.missing, v.missedFrom = map[string]bool{log[len(log)-1].name: true}, v.next
		}
		w.until(f, func() { v.list(len(w.api.log[v.resource])); p.wake(0) })
	}
}

// between has another program run between two requests of the one that runs.
func (w *world) between(name string) {
	if w.turns.depth > 0 {
		return
	}
	w.turns.depth++
	if other := w.program(name); other != nil && !other.running && !other.wakeAt.IsZero() {
		for _, v := range other.views {
			if !w.now().Before(v.stalledUntil) && other.reachable() {
				v.deliver()
			}
		}
		w.note("meanwhile %s runs", other.name)
		other.wakeAt = time.Time{}
		other.run()
	}
	w.turns.depth--
}
