package guard

import (
	"context"
	"time"
)

// AskEvery is how long the API server's last answer counts, unless the guard would act on it.
const AskEvery = 10 * time.Second

// NeedsAnswer reports whether the verdict depends on what the API server answers, or will at the limit,
// by when it has to have answered for some time. What the API server has said is not part of o.
func NeedsAnswer(a Activation, o Observation) bool {
	switch {
	case o.Merged == "" || o.Returned:
		return false
	case o.Returning:
		return o.Health.Network != ""
	}
	return o.Boots > MaxBoots || o.Elapsed >= limit(a, o)-answersFor(a)
}

// answer is what the API server answers of the node.
type answer struct {
	given   bool   // it answered
	problem string // it does not show the node as Ready
}

// with returns the findings with an answer. An API server on another node that shows this one as Ready has
// heard of it by the network.
func (h Health) with(a answer, hosts bool) Health {
	if h.API = a.problem; a.given && a.problem == "" && !hosts {
		h.Network = ""
	}
	return h
}

// askNow asks the API server.
func (g *guardian) askNow(ctx context.Context, now time.Duration) {
	g.answer, g.asked = g.ask(ctx), now
	if !g.answer.given {
		g.answers = 0
	} else if g.answers == 0 {
		g.answers = now
	}
}

// answered returns an observation with what the API server last said.
func (g *guardian) answered(o Observation, hosts bool, now time.Duration) Observation {
	if o.Health = o.Health.with(g.answer, hosts); g.answers > 0 {
		o.Answers = now - g.answers
	}
	return o
}
