package request

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// Planned returns the upgrade that the plan is for, with the status that the plan
// gives it. Nil: the plan is for none, or for one that is over.
func Planned(s fleet.Snapshot, decided plan.Plan) *v1alpha1.ClusterUpgrade {
	status := statusOf(decided)
	for i := range s.Upgrades {
		if u := &s.Upgrades[i]; u.Name == decided.Upgrade && status != nil && u.Status.Outcome == "" {
			u = u.DeepCopy()
			u.Status = *status
			return u
		}
	}
	return nil
}

// statusOf returns the status that the plan gives its upgrade. Nil: it is for none.
func statusOf(decided plan.Plan) *v1alpha1.ClusterUpgradeStatus {
	for i := range decided.Statuses {
		if decided.Statuses[i].Name == decided.Upgrade {
			return &decided.Statuses[i].Status
		}
	}
	return nil
}

// HasWork reports whether anything is to be done, or would be if it could.
func HasWork(decided plan.Plan) bool {
	return decided.Create != nil || slices.ContainsFunc(decided.Nodes, IsToGo)
}

// IsToGo reports whether something is to be done about the node. One that is not
// supported, or that a person abandoned, is left out.
func IsToGo(n plan.NodePlan) bool {
	leftOut := n.Reason == v1alpha1.ReasonUnsupported || n.Reason == v1alpha1.ReasonAbandoned
	return n.Decision != plan.Done && !leftOut
}

// ReuseFindings takes the findings of a saved snapshot to be those of that instant. It
// reports false, and leaves them out, where they are about another upgrade.
func ReuseFindings(s *fleet.Snapshot, at time.Time) bool {
	report := s.Preflight
	s.Preflight = nil
	decided := plan.Decide(*s, at)
	if decided.PreflightKey == "" {
		return true // there is no upgrade to check
	}
	now := fleet.Preflight{Key: decided.PreflightKey, At: at}
	if upgrade := Planned(*s, decided); upgrade != nil {
		now.Upgrade = upgrade.Reference()
	}
	matches := report != nil && report.Key == now.Key
	if matches {
		now.Findings = report.Findings
	}
	s.Preflight = &now
	return matches
}
