package plan

import (
	"cmp"
	"slices"
	"strings"
)

// zoneLabel says where a node stands. Kubernetes documents it among the
// well-known labels: https://kubernetes.io/docs/reference/labels-annotations-taints/.
const zoneLabel = "topology.kubernetes.io/zone"

// sort puts the nodes into the order in which they go: group after group, and
// within a group one from each zone in turn, by name. So nodes that are down
// together, or shortly after each other, stand in different zones as far as
// there are any; and the order stays as it is while the nodes go.
func (d *decider) sort() {
	slices.SortFunc(d.nodes, func(a, b *node) int {
		if a.group != b.group {
			return a.group - b.group
		}
		return strings.Compare(a.Name, b.Name)
	})
	type place struct {
		group int
		zone  string
	}
	before := map[place]int{}
	for _, n := range d.nodes {
		at := place{n.group, n.Labels[zoneLabel]}
		n.rank = before[at]
		before[at]++
	}
	slices.SortStableFunc(d.nodes, func(a, b *node) int {
		if a.group != b.group || a.rank != b.rank {
			return cmp.Or(a.group-b.group, a.rank-b.rank)
		}
		return strings.Compare(a.Labels[zoneLabel], b.Labels[zoneLabel])
	})
}
