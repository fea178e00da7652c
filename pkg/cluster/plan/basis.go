package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Basis is what a prediction was made from.
type Basis struct {
	// Nodes is how many nodes of this cluster were measured in what is still to be done. With none the durations are assumed.
	Nodes int `json:"nodes"`
	// Upgrades is in how many upgrades they were.
	Upgrades int `json:"upgrades"`
	// EarliestEnd and LatestEnd are when the last node is done if each takes as long as the quickest, and the
	// slowest, that was measured. Nil: enough nodes were measured in each part of what is to be done, or none in any.
	EarliestEnd *time.Time `json:"earliestEnd,omitempty"`
	LatestEnd   *time.Time `json:"latestEnd,omitempty"`
}

// measurements are what newDurations takes durations from: those of this upgrade's nodes, and those of earlier upgrades.
type measurements struct{ own, before samples }

// source returns the part whose measurements tell how long p takes: that of the other nodes, if only these were measured.
func (m measurements) source(p part) part {
	other := map[part]part{controlPlane: worker, worker: controlPlane}
	if q, has := other[p]; has && len(m.own.took[p])+len(m.before.took[p]) == 0 {
		return q
	}
	return p
}

// basis returns what is known of these parts, and whether a part was measured on too few nodes.
func (m measurements) basis(used [parts]bool) (b Basis, few bool) {
	nodes, upgrades := map[string]bool{}, map[string]bool{}
	for p := range parts {
		if !used[p] {
			continue
		}
		few = few || max(len(m.own.took[p]), len(m.before.took[p])) < minSamples
		for _, of := range []samples{m.own, m.before} {
			maps.Copy(nodes, of.nodes[m.source(p)])
			maps.Copy(upgrades, of.upgrades[m.source(p)])
		}
	}
	return Basis{Nodes: len(nodes), Upgrades: len(upgrades)}, few
}

// extremes returns the shortest and the longest of each part that is expected or was measured.
func (m measurements) extremes(d durations) (shortest, longest durations) {
	shortest, longest = d, d
	for p := range d {
		of := m.source(part(p))
		for _, took := range slices.Concat(m.own.took[of], m.before.took[of]) {
			shortest[p], longest[p] = min(shortest[p], took), max(longest[p], took)
		}
	}
	return shortest, longest
}

// addBasis adds what the prediction was made from, and between which instants the end is if few nodes were measured.
func (p *Plan) addBasis(decided *planner, used [parts]bool) {
	if p.PredictedStart == nil {
		return
	}
	c := decided.cluster
	basis, few := c.measured.basis(used)
	p.PredictedFrom = &basis
	if basis.Nodes == 0 || !few || p.PredictedEnd == nil {
		return
	}
	shortest, longest := c.measured.extremes(c.durations)
	ends := []time.Time{*p.PredictedEnd}
	for _, took := range []durations{shortest, longest} {
		future := newPrediction(decided, took)
		future.run()
		_, end := future.startAndEnd()
		if end == nil {
			return
		}
		ends = append(ends, *end)
	}
	// Where windows close, nodes that take less time may go in another order, and end later.
	slices.SortFunc(ends, time.Time.Compare)
	basis.EarliestEnd, basis.LatestEnd = clusterstate.UTC(&ends[0]), clusterstate.UTC(&ends[2])
}
