package view

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

// Status returns the values of the screen that shows the cluster. The active upgrade
// and the order of the others are the planner's.
func Status(o Objects, now time.Time) render.Status {
	s := render.Status{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "UpgradeStatus",
		Schedules:  []render.Schedule{},
		Policy:     policyOf(o.policy()),
	}
	s.Nodes, s.Unmanaged = Nodes(o)
	s.Problems = o.Programs.problems(s.Nodes)
	for i, u := range plan.Queue(o.Snapshot(), now) {
		s.Approvals = append(s.Approvals, Approvals(u.ClusterUpgrade, o.policy())...)
		if i == 0 {
			s.Upgrade = Upgrade(u.ClusterUpgrade)
			continue
		}
		s.Queued = append(s.Queued, u.Name)
	}
	s.Last = Upgrade(lastEnded(o.Upgrades))
	for _, schedule := range o.Schedules {
		s.Schedules = append(s.Schedules, scheduleOf(schedule))
	}
	slices.SortFunc(s.Schedules, func(a, b render.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// lastEnded returns the upgrade that ended last. Nil: none has.
func lastEnded(upgrades []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	var last *v1alpha1.ClusterUpgrade
	for i := range upgrades {
		u := &upgrades[i]
		if u.Status.Outcome != "" && (last == nil || last.Status.CompletionTime.Before(u.Status.CompletionTime)) {
			last = u
		}
	}
	return last
}

// Upgrade returns the values of an upgrade. Nil: there is none.
func Upgrade(u *v1alpha1.ClusterUpgrade) *render.Upgrade {
	if u == nil {
		return nil
	}
	v := &render.Upgrade{
		Name:           u.Name,
		Type:           cmp.Or(u.Status.Type, u.Spec.Type),
		From:           u.Status.FromVersion,
		To:             u.Spec.Version,
		Progress:       u.Status.Progress,
		TriggerTime:    instant(u.Status.TriggerTime),
		CompletionTime: instant(u.Status.CompletionTime),
		Outcome:        u.Status.Outcome,
		Stalled:        u.Status.Stalled(),
		RequestedBy:    requestedBy(u.Annotations[v1alpha1.RequestedByAnnotation], u.Annotations[v1alpha1.CreatedByAnnotation]),
		People:         render.People{ApprovedBy: u.Spec.Approved.By},
		IgnoreChecks:   u.Spec.IgnoreChecks,
	}
	v.Changed, v.ChangedBy = u.Changed()
	v.Reason, v.Message = u.Status.Explain()
	return v
}

func scheduleOf(m v1alpha1.MaintenanceSchedule) render.Schedule {
	v := render.Schedule{Name: m.Name, State: cmp.Or(m.Status.State, "Unknown"), Until: instant(m.Status.UntilTime)}
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionValid); c != nil && c.Status == metav1.ConditionFalse {
		v.State, v.Until, v.Message = "Invalid", nil, c.Message
	}
	return v
}

// instant returns t in UTC, as JSON shows it.
func instant(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// requestedBy returns who requested an upgrade: a user, or the policy. Empty: that is not
// known.
func requestedBy(user, createdBy string) string {
	if createdBy == v1alpha1.CreatedByCoordinator {
		return "the UpgradePolicy"
	}
	return user
}
