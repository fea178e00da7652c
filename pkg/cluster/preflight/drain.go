package preflight

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// drainOrder is how the pods of a node are evicted.
type drainOrder struct {
	v1alpha1.Drain
	rules fleet.DrainRules
}

// nodeGroup is a group of the strategy whose drain may be its own.
type nodeGroup struct {
	selector labels.Selector
	drain    drainOrder
}

// drainOrders returns how nodes of no group are drained, and those of each group.
func drainOrders(s v1alpha1.Strategy) (drainOrder, []nodeGroup) {
	var groups []nodeGroup
	for _, g := range s.Groups {
		groups = append(groups, nodeGroup{selector(&g.NodeSelector), newDrainOrder(g.Pace.Or(s.Pace))})
	}
	return newDrainOrder(s.Pace), groups
}

func newDrainOrder(p v1alpha1.Pace) drainOrder {
	// The API server refuses a rule whose selector is wrong. Without any rule, the
	// findings are about too many pods rather than too few.
	rules, _ := fleet.CompileDrainRules(p.Drain.Rules)
	return drainOrder{p.Drain, rules}
}

// drainOf returns how the node is drained. Only workers belong to groups.
func (c *checker) drainOf(n *node) drainOrder {
	i := slices.IndexFunc(c.groups, func(g nodeGroup) bool { return !n.controlPlane && g.selector.Matches(labels.Set(n.Labels)) })
	if i < 0 {
		return c.drains
	}
	return c.groups[i].drain
}

// selector returns the selector as Kubernetes matches it: everything where it is
// absent, nothing where Kubernetes does not accept it.
func selector(s *v1alpha1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Everything()
	}
	matches, err := s.AsSelector()
	if err != nil {
		return labels.Nothing()
	}
	return matches
}
