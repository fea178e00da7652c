package record

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// HandOff is the time from one node's uncordon to the next one's cordon.
type HandOff struct {
	From, To             string
	Uncordoned, Cordoned time.Time
	// Reached is when each of HandOffParts ended. It is zero for what was not seen.
	Reached []time.Time
}

// HandOffParts are what happens during a hand-off, in order.
var HandOffParts = []struct {
	Name    string
	reached func(s State, from, to string) bool
}{
	{"the slot is freed", func(s State, from, _ string) bool { return !s.Holds(from) }},
	{"the coordinator releases the next node", func(s State, _, to string) bool { return s.Releases[to] == v1alpha1.ReleaseNode }},
	{"it takes the slot", func(s State, _, to string) bool { return s.Holds(to) }},
	{"the Node is cordoned", func(s State, _, to string) bool { return s.Nodes[to].Cordoned }},
}

// Length returns how long the hand-off took.
func (h HandOff) Length() time.Duration { return h.Cordoned.Sub(h.Uncordoned) }

// Parts returns how long each of HandOffParts took. What was not seen took no time.
func (h HandOff) Parts() []time.Duration {
	var parts []time.Duration
	last := h.Uncordoned
	for _, at := range h.Reached {
		took := max(0, at.Sub(last))
		if at.IsZero() {
			took = 0
		}
		parts, last = append(parts, took), last.Add(took)
	}
	return parts
}

// HandOffs returns the hand-offs from each node to the one that was cordoned next. There is
// none between nodes that were out of service together.
func HandOffs(moments []Moment) ([]HandOff, error) {
	outages, err := Outages(moments)
	if err != nil {
		return nil, err
	}
	var all []HandOff
	for i := 1; i < len(outages); i++ {
		from, to := outages[i-1], outages[i]
		if to.Cordoned.After(from.Uncordoned) {
			all = append(all, HandOff{from.Node, to.Node, from.Uncordoned, to.Cordoned, make([]time.Time, len(HandOffParts))})
		}
	}
	err = Walk(moments, func(m Moment, s State) {
		for _, h := range all {
			h.note(m, s)
		}
	})
	return all, err
}

// note notes which parts were first seen to have ended at a moment.
func (h HandOff) note(m Moment, s State) {
	if m.Seen.Before(h.Uncordoned) || m.Seen.After(h.Cordoned) {
		return
	}
	for i, part := range HandOffParts {
		if h.Reached[i].IsZero() && part.reached(s, h.From, h.To) {
			h.Reached[i] = m.Seen
		}
	}
}
