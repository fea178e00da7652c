package sim

import (
	"net/http"
	"time"
)

// clock is a node's. It is wrong by an offset, and by a drift that grows.
type clock struct {
	offset time.Duration
	drift  float64 // seconds a second
	since  time.Time
}

// maxClockError is by how much clocks may be wrong without harm.
const maxClockError = 35 * time.Second

func (n *node) clockError() time.Duration {
	return n.clock.offset + time.Duration(n.clock.drift*float64(n.w.now().Sub(n.clock.since)))
}

// now is the time by the node's clock.
func (n *node) now() time.Time {
	return clockTime(n.w.now().Add(n.clockError()), n.w.now().Sub(n.w.started))
}

// checkClock checks that a node does not go on whose clock was wrong when its agent's reconcile
// began: each answer of the API server shows that to the agent.
func (w *world) checkClock(a *agentProgram, what string) {
	c := a.node.clock
	then := c.offset + time.Duration(c.drift*float64(a.ranAt.Sub(c.since)))
	if now := a.node.clockError(); c.since.Before(a.ranAt) && min(now.Abs(), then.Abs()) > maxClockError {
		w.broken("clock", "%s %s, and its clock is wrong by %s", a.node.name, what, now)
	}
}

// injectClock has the node's clock jump, and drift on from there.
func (w *world) injectClock(n *node, f fault) {
	sign := map[bool]time.Duration{true: 1, false: -1}[f.After]
	n.clock = clock{offset: sign * f.For * time.Duration(1+f.Number), since: w.now()}
	if f.Number%3 == 0 {
		n.clock = clock{drift: float64(sign) * f.For.Seconds() / 600, since: w.now()}
	}
	w.after(time.Duration(f.Number)*time.Minute, "clock is set", func() { w.setClock(n) })
}

// setClock sets the node's clock right. Its agent makes a request soon, by which it sees that:
// each of its watches begins again every few minutes.
func (w *world) setClock(n *node) {
	n.clock = clock{}
	a := w.agents[n.uid]
	if a == nil || a.isDead || n.removed {
		return
	}
	if !a.reachable() {
		w.after(10*time.Second, "watch again", func() { w.setClock(n) })
		return
	}
	r, err := http.NewRequestWithContext(a.ctx, http.MethodGet, "http://simulated/api/v1/nodes/"+n.name, nil)
	if err != nil {
		panic(err)
	}
	if response, err := a.measure.RoundTrip(r); err == nil {
		_ = response.Body.Close()
		a.wake(0)
	}
}
