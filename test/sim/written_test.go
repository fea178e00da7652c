package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// write is a change of an object, by a client.
type write struct {
	by       string
	resource string
}

// TestWritesOfRollout counts the writes of a rollout for each node: a change that makes more
// of them is seen here, and not in a fleet of five thousand nodes.
func TestWritesOfRollout(t *testing.T) {
	s := plain()
	s.ControlPlanes, s.Workers, s.Budget, s.Lasts = 1, 19, 2, time.Hour
	result := simulate(t, s, false)
	if result.failure != "" {
		t.Fatal(result.failure)
	}
	nodes := float64(s.ControlPlanes + s.Workers)
	got := map[write]float64{}
	for _, w := range result.writes {
		if program, _, found := strings.Cut(w.by, " "); found && program == "agent" {
			w.by = program
		}
		got[w] += 1 / nodes
	}
	most := map[write]float64{
		{"agent", "nodeupgrades"}:          18.5,
		{"agent", "nodes"}:                 6.2, // cordon and uncordon, and four changes of conditions
		{"agent", "leases"}:                2.2,
		{"agent", "nodeinventories"}:       2.1,
		{"agent", "pods"}:                  1.1, // the eviction of each
		{"coordinator", "nodeupgrades"}:    13,
		{"coordinator", "leases"}:          1.2, // the reservation of a slot
		{"coordinator", "clusterupgrades"}: 6.3,
	}
	for _, w := range slices.SortedFunc(maps.Keys(got), func(a, b write) int { return strings.Compare(a.by+a.resource, b.by+b.resource) }) {
		limit, counted := most[w]
		if !counted {
			continue
		}
		t.Logf("%s writes %s: %.2f for each node", w.by, w.resource, got[w])
		if got[w] > limit {
			t.Errorf("%s writes %s %.2f times for each node, want at most %.1f", w.by, w.resource, got[w], limit)
		}
		delete(most, w)
	}
	if len(most) > 0 {
		t.Errorf("nothing was written by %v", most)
	}
}
