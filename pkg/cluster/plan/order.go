package plan

import (
	"maps"
	"slices"
	"strings"
)

// zoneLabel names the zone of a node. Kubernetes documents it among the well-known
// labels: https://kubernetes.io/docs/reference/labels-annotations-taints/.
const zoneLabel = "topology.kubernetes.io/zone"

// sort puts the nodes into upgrade order: by group, and within a group one from each
// zone in turn, by name. So nodes that are down at the same time are in different zones
// where possible. The order does not change while nodes are upgraded.
func (c *cluster) sort() {
	slices.SortFunc(c.nodes, func(a, b *node) int { return strings.Compare(a.Name, b.Name) })
	zones := make([]map[string][]*node, len(c.groups))
	for _, n := range c.nodes {
		if zones[n.group] == nil {
			zones[n.group] = map[string][]*node{}
		}
		zone := n.Labels[zoneLabel]
		zones[n.group][zone] = append(zones[n.group][zone], n)
	}
	c.nodes = c.nodes[:0]
	for _, group := range zones {
		c.nodes = append(c.nodes, roundRobin(group)...)
	}
}

// roundRobin returns the nodes, one from each zone in turn.
func roundRobin(zones map[string][]*node) []*node {
	names := slices.Sorted(maps.Keys(zones))
	var list []*node
	for round, more := 0, true; more; round++ {
		more = false
		for _, name := range names {
			if round < len(zones[name]) {
				list, more = append(list, zones[name][round]), true
			}
		}
	}
	return list
}
