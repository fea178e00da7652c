package plan

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// ControlPlaneGroup is the group of the nodes that go first.
const ControlPlaneGroup = "control-plane"

// group is a set of nodes with a limit and a pace of its own.
type group struct {
	name     string
	pace     v1alpha1.Pace
	approval v1alpha1.Approval
	selector labels.Selector
	limit    int // 0: only the whole budget counts
}

// newGroups returns the control plane, the strategy's groups, and a group of all other
// nodes. An invalid selector matches nothing: its nodes are in the last group.
func newGroups(strategy v1alpha1.Strategy) []*group {
	list := []*group{{name: ControlPlaneGroup, pace: strategy.Pace, selector: labels.Nothing(), limit: 1}}
	for _, g := range strategy.Groups {
		selector, err := g.NodeSelector.AsSelector()
		if err != nil {
			selector = labels.Nothing()
		}
		list = append(list, &group{name: g.Name, pace: g.Pace.Or(strategy.Pace), approval: g.Approval, selector: selector})
	}
	return append(list, &group{name: "", pace: strategy.Pace, selector: labels.Everything()})
}

// scaled returns how many of n nodes a number or percentage allows: rounded down, at
// least one. An invalid limit allows one.
func scaled(limit *intstr.IntOrString, n int) int {
	allowed, err := intstr.GetScaledValueFromIntOrPercent(limit, n, false)
	if err != nil || limit.Type == intstr.String && allowed > n {
		return 1
	}
	return max(1, allowed)
}
