package plan

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Basis is what a prediction was made from.
type Basis struct {
	// Nodes is how many nodes of this cluster were measured. With none the durations are assumed.
	Nodes int `json:"nodes"`
	// Upgrades is in how many upgrades they were.
	Upgrades int `json:"upgrades"`
	// EarliestEnd and LatestEnd are when the last node is done if each takes as long as the quickest, and the
	// slowest, that was measured. Nil: enough nodes were measured, or none.
	EarliestEnd *time.Time `json:"earliestEnd,omitempty"`
	LatestEnd   *time.Time `json:"latestEnd,omitempty"`
}

// basis returns what newDurations takes durations from.
func basis(own, before samples) Basis {
	maps.Copy(before.nodes, own.nodes)
	maps.Copy(before.upgrades, own.upgrades)
	return Basis{Nodes: len(before.nodes), Upgrades: len(before.upgrades)}
}

// extremes returns the shortest and the longest of each part that is expected or was measured.
func (d durations) extremes(own, before samples) (shortest, longest durations) {
	shortest, longest = d, d
	for p := range d {
		for _, took := range slices.Concat(own.took[p], before.took[p]) {
			shortest[p], longest[p] = min(shortest[p], took), max(longest[p], took)
		}
	}
	return shortest, longest
}

// addBasis adds what the prediction was made from, and between which instants the end is if few nodes were measured.
func (p *Plan) addBasis(decided *planner) {
	c := decided.cluster
	if p.PredictedStart == nil {
		return
	}
	basis := c.basis
	p.PredictedFrom = &basis
	if basis.Nodes == 0 || basis.Nodes >= minSamples || p.PredictedEnd == nil {
		return
	}
	endIf := func(took durations) *time.Time {
		future := newPrediction(decided, took)
		future.run()
		_, end := future.startAndEnd()
		return clusterstate.UTC(end)
	}
	basis.EarliestEnd, basis.LatestEnd = endIf(c.shortest), endIf(c.longest)
}
