package report

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// addPresent adds why nodes wait now, and what is predicted for them.
func (b *builder) addPresent() {
	plans := make(map[string]*plan.NodePlan, len(b.expected.Nodes))
	for i := range b.expected.Nodes {
		plans[b.expected.Nodes[i].Name] = &b.expected.Nodes[i]
	}
	statuses := make(map[string]*v1alpha1.NodeUpgrade, len(b.snapshot.NodeUpgrades))
	for i := range b.snapshot.NodeUpgrades {
		statuses[b.snapshot.NodeUpgrades[i].Name] = &b.snapshot.NodeUpgrades[i]
	}
	for i := range b.report.Nodes {
		n := &b.report.Nodes[i]
		if p := plans[n.Name]; p != nil {
			n.PredictedStartTime, n.PredictedEndTime = utc(p.PredictedStart), utc(p.PredictedEnd)
			if n.State != Done && n.State != UpToDate {
				n.Reason, n.Message, n.Until = p.Reason, p.Message, utc(p.Until)
			}
		}
		u := statuses[n.Name]
		if n.State == Done || n.State == UpToDate || u == nil || u.Spec.Upgrade == nil || u.Spec.Upgrade.UID != b.report.Upgrade.UID {
			continue
		}
		reason, message := u.Status.Explain()
		if reason == "" {
			continue
		}
		n.Reason, n.Message, n.Until = reason, message, instant(u.Status.StepEndTime)
		if hold, _ := u.Status.Hold(); hold == reason {
			n.Until = instant(u.Status.HoldEndTime)
		}
		if u.Abandoned != nil {
			n.State, n.Reason, n.Message, n.Until = Failed, v1alpha1.ReasonAbandoned, u.Abandoned.String(), nil
		}
	}
}
