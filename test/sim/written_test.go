package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// access is a read of a kind, or a change of an object, by a client.
type access struct {
	by       string
	resource string
}

// TestRequestsOfRollout counts the reads and writes of a rollout for each node, without those of
// watches: a change that makes more of them is seen here, and not in a fleet of five thousand nodes.
func TestRequestsOfRollout(t *testing.T) {
	s := plain()
	s.ControlPlanes, s.Workers, s.Budget, s.Lasts = 1, 19, 2, time.Hour
	result := simulate(t, s, false)
	if result.failure != "" {
		t.Fatal(result.failure)
	}
	nodes := s.ControlPlanes + s.Workers
	checkAccesses(t, "writes", result.writes, nodes, map[access]float64{
		{"agent", "nodeupgrades"}:          13.3,
		{"agent", "nodes"}:                 5.2, // cordon and uncordon, and three changes of conditions
		{"agent", "leases"}:                2.2,
		{"agent", "nodeinventories"}:       2.1,
		{"agent", "pods"}:                  1.1, // the eviction of each
		{"coordinator", "nodeupgrades"}:    8.7,
		{"coordinator", "leases"}:          1.2, // the reservation of a slot
		{"coordinator", "clusterupgrades"}: 3.4,
	})
	checkAccesses(t, "reads", result.reads, nodes, map[access]float64{
		{"agent", "clusterupgrades"}:      4.2, // three gates, and one verb that goes by the order
		{"agent", "upgradepolicies"}:      5.2,
		{"agent", "maintenanceschedules"}: 3.2,
		{"agent", "nodeupgrades"}:         5.2,
		{"agent", "pods"}:                 4.4,
		{"agent", "csinodes"}:             1.2, // before the cordon
		{"agent", "leases"}:               3.2,
		{"agent", "nodes"}:                1.2,
		{"agent", "daemonsets"}:           1.2,
		{"agent", "configmaps"}:           1.1, // to which version kubeadm upgrade node would go
	})
}

// checkAccesses compares how often each client had access to each kind with the limit for a node.
func checkAccesses(t *testing.T, what string, all []access, nodes int, most map[access]float64) {
	t.Helper()
	got := map[access]float64{}
	for _, a := range all {
		if program, _, found := strings.Cut(a.by, " "); found && program == "agent" {
			a.by = program
		}
		got[a] += 1 / float64(nodes)
	}
	for _, a := range slices.SortedFunc(maps.Keys(got), func(a, b access) int { return strings.Compare(a.by+a.resource, b.by+b.resource) }) {
		limit, counted := most[a]
		if a.by != "agent" && !counted {
			continue
		}
		t.Logf("%s %s %s: %.2f for each node", a.by, what, a.resource, got[a])
		if got[a] > limit {
			t.Errorf("%s %s %s %.2f times for each node, want at most %.1f", a.by, what, a.resource, got[a], limit)
		}
		delete(most, a)
	}
	if len(most) > 0 {
		t.Errorf("no %s by %v", what, most)
	}
}
