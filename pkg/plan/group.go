package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ControlPlaneGroup is the group of the nodes that go first.
const ControlPlaneGroup = "control-plane"

// group is nodes that go in one another's company, and how many at once.
type group struct {
	name     string
	pace     v1alpha1.Pace
	selector labels.Selector
	limit    int // 0: only the whole budget counts
	down     int
	blocked  *node // a node of it that the next groups wait for
}

// groups are the control plane, the strategy's own, and the rest. A selector
// that cannot be read matches nothing: its nodes go with the rest.
func groups(strategy v1alpha1.Strategy) []*group {
	list := []*group{{name: ControlPlaneGroup, pace: strategy.Pace, selector: labels.Nothing(), limit: 1}}
	for _, g := range strategy.Groups {
		selector, err := g.NodeSelector.AsSelector()
		if err != nil {
			selector = labels.Nothing()
		}
		list = append(list, &group{name: g.Name, pace: g.Pace.Or(strategy.Pace), selector: selector})
	}
	return append(list, &group{name: "", pace: strategy.Pace, selector: labels.Everything()})
}

// place puts each node into its group, sets the groups' limits, and sorts the
// nodes as they go.
func (d *decider) place() {
	d.groups = groups(d.strategy)
	sizes := make([]int, len(d.groups))
	for _, n := range d.nodes {
		if !n.ControlPlane {
			n.group = slices.IndexFunc(d.groups, func(g *group) bool { return g.selector.Matches(labels.Set(n.Labels)) })
		}
		if n.counts() {
			sizes[n.group]++
			d.total++
		}
	}
	for i, g := range d.strategy.Groups {
		if g.MaxUnavailable != nil {
			d.groups[i+1].limit = scaled(g.MaxUnavailable, sizes[i+1])
		}
	}
	d.sort()
}

// scaled is how many of n nodes a number or percentage allows: rounded down,
// never below one. What cannot be read allows one.
func scaled(limit *intstr.IntOrString, n int) int {
	allowed, err := intstr.GetScaledValueFromIntOrPercent(limit, n, false)
	if err != nil || limit.Type == intstr.String && allowed > n {
		return 1
	}
	return max(1, allowed)
}
