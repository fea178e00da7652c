package report

import (
	"cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// addUpgrade adds what is known of the upgrade itself: from its record, and from its
// ClusterUpgrade where that still exists.
func (b *builder) addUpgrade() {
	if len(b.record) > 0 {
		b.addRecord(b.record[0].UpgradeSummary)
	}
	if b.upgrade != nil {
		b.addObject(b.upgrade)
	}
}

func (b *builder) addRecord(r v1alpha1.UpgradeSummary) {
	b.report.Upgrade = Upgrade{
		Name: r.Upgrade.Name, UID: r.Upgrade.UID, Type: r.Type, From: r.FromVersion, To: r.Version,
		RequestedBy: requestedBy(r.RequestedBy, r.CreatedBy),
		Changed:     r.ChangedBy != "", ChangedBy: r.ChangedBy, ApprovedBy: r.ApprovedBy,
		StartTime: instant(r.TriggerTime), Triggered: r.TriggerTime != nil, EndTime: instant(&r.CompletionTime),
		Outcome: r.Outcome, Reason: r.Reason, Message: r.Message, Counts: r.Counts,
	}
	b.report.IgnoreChecks, b.report.EtcdSnapshot = r.IgnoreChecks, r.EtcdSnapshot
}

func (b *builder) addObject(u *v1alpha1.ClusterUpgrade) {
	strategy := u.Status.Strategy
	if b.snapshot.Policy != nil && u.Status.TriggerTime == nil {
		strategy = u.Resolve(b.snapshot.Policy.Spec.Strategy)
	}
	b.report.Upgrade = Upgrade{
		Name: u.Name, UID: string(u.UID), Type: plan.TypeOf(u), From: u.Status.FromVersion, To: u.Spec.Version,
		RequestedBy:   requestedBy(u.Annotations[v1alpha1.RequestedByAnnotation], u.Annotations[v1alpha1.CreatedByAnnotation]),
		RequestedTime: instant(&u.CreationTimestamp), ApprovedBy: u.Spec.Approved.By, RetryOf: u.Spec.RetryOf,
		Method: strategy.Method, IgnoreWindows: u.Spec.IgnoreWindows, Suspended: u.Spec.Suspend && u.Status.Outcome == "",
		StartTime: cmp.Or(instant(u.Status.TriggerTime), instant(&u.CreationTimestamp)), Triggered: u.Status.TriggerTime != nil,
		EndTime: instant(u.Status.CompletionTime), Outcome: u.Status.Outcome, Stalled: u.Status.Stalled(), Counts: u.Status.Nodes,
	}
	b.report.Upgrade.Changed, b.report.Upgrade.ChangedBy = u.Changed()
	if strategy.MaxUnavailable != nil {
		b.report.Upgrade.MaxUnavailable = strategy.MaxUnavailable.String()
	}
	b.report.Upgrade.Reason, b.report.Upgrade.Message = u.Status.Explain()
	b.report.IgnoreChecks, b.report.EtcdSnapshot = u.Spec.IgnoreChecks, u.Status.EtcdSnapshot
	b.report.Findings, b.report.Images = u.Status.Findings, u.Status.Images
	if at := u.Status.PreflightTime; at != nil {
		b.report.FindingsTime = utc(&at.Time)
	}
}

// requestedBy returns who requested an upgrade: a user, or the policy. Empty: that is not
// known.
func requestedBy(user, createdBy string) string {
	if createdBy == v1alpha1.CreatedByCoordinator {
		return "the UpgradePolicy"
	}
	return user
}
