package preflight

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/drainrule"
)

// drainOrder is how the pods of a node are asked to leave.
type drainOrder struct {
	v1alpha1.Drain
	rules drainrule.Rules
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
	// The API server refuses a rule whose selector is wrong. No rule counts then:
	// preflight speaks of too many pods rather than of too few.
	rules, _ := drainrule.Compile(p.Drain.Rules)
	return drainOrder{p.Drain, rules}
}

// drainOf returns how the node is drained. Groups are of workers only.
func (c *checker) drainOf(n *node) drainOrder {
	i := slices.IndexFunc(c.groups, func(g nodeGroup) bool { return !n.controlPlane && g.selector.Matches(labels.Set(n.Labels)) })
	if i < 0 {
		return c.drains
	}
	return c.groups[i].drain
}

// selector returns a selector of our own as Kubernetes matches it: everything
// where there is none, nothing where it is not one.
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
