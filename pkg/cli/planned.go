package cli

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// viewPlanned is the upgrade that the plan is for, as it will report itself;
// nil where the plan is for none, or for one that is over.
func viewPlanned(s fleet.Snapshot, decided plan.Plan) *render.Upgrade {
	u := planned(s, decided)
	if u == nil {
		return nil
	}
	if u.Name == supposed {
		u.Name = decided.Version + " (not asked for yet)"
	}
	return viewUpgrade(u)
}

// leavesWork reports whether anything is to be done, or would be if it could.
func leavesWork(decided plan.Plan) bool {
	return decided.Create != nil || slices.ContainsFunc(decided.Nodes, isToGo)
}

// isToGo reports whether something is to be done about the node. One that is not
// supported, or that a person gave up, is left out.
func isToGo(n plan.NodePlan) bool {
	leftOut := n.Reason == v1alpha1.ReasonUnsupported || n.Reason == v1alpha1.ReasonAbandoned
	return n.Decision != plan.Done && !leftOut
}

// inUTC is the plan with its times as JSON is to show them.
func inUTC(decided plan.Plan) plan.Plan {
	decided.Next = utc(decided.Next)
	decided.PredictedStart, decided.PredictedEnd = utc(decided.PredictedStart), utc(decided.PredictedEnd)
	for i := range decided.Nodes {
		n := &decided.Nodes[i]
		n.Until, n.PredictedStart, n.PredictedEnd = utc(n.Until), utc(n.PredictedStart), utc(n.PredictedEnd)
	}
	return decided
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	whole := t.UTC().Truncate(time.Second)
	return &whole
}
