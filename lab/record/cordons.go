package record

import (
	"slices"
	"time"
)

// LostCordons checks docs/architecture.md's promise 5: a cordon without our mark stays. A
// person cordoned the nodes in foreign, and has not uncordoned them.
func LostCordons(moments []Moment, foreign ...string) ([]Broken, error) {
	var broken []Broken
	before := map[string]Node{}
	err := Walk(moments, func(m Moment, s State) {
		name := m.Object.GetName()
		if m.Resource != "nodes" || !slices.Contains(foreign, name) {
			return
		}
		now, there := s.Nodes[name]
		if was := before[name]; there && was.Cordoned && !was.OurCordon && !now.Cordoned {
			broken = append(broken, m.broken("the cordon of %s, which is not ours, was removed", name))
		}
		before[name] = now
	})
	return broken, err
}

// Without returns the moments as if a Node had been deleted at that time: a person declared
// it lost, so that it counts no more.
func Without(moments []Moment, node string, since time.Time) []Moment {
	var kept []Moment
	var last *Moment
	for _, m := range moments {
		ofNode := m.Resource == "nodes" && m.Object.GetName() == node
		if last != nil && !m.Seen.Before(since) {
			last.Revision, last.Deleted = m.Revision, true
			kept = append(kept, *last)
			last = nil
		}
		if ofNode && !m.Seen.Before(since) {
			continue
		}
		if ofNode {
			last = &m
		}
		kept = append(kept, m)
	}
	return kept
}

// FreedAt returns when the node freed its slot last. It is zero if the node has not, or has taken
// one again.
func FreedAt(moments []Moment, node string) (freed time.Time, err error) {
	held := false
	err = Walk(moments, func(m Moment, s State) {
		switch holds := s.Holds(node); {
		case holds:
			held, freed = true, time.Time{}
		case held:
			held, freed = false, m.Seen
		}
	})
	return freed, err
}
