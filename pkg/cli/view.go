package cli

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/render"
)

// view makes the screen's values of the cluster's objects. It invents no
// reason: those of the objects are shown.
func view(o objects) render.Status {
	s := render.Status{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "UpgradeStatus",
		Schedules:  []render.Schedule{},
		Policy:     viewPolicy(o.policy()),
	}
	s.Nodes, s.Unmanaged = viewNodes(o)
	open := line{o.upgrades, o.nodeUpgrades}.open()
	s.Approvals = approvals(open, o.policy())
	for i, u := range open {
		if i == 0 {
			s.Upgrade = viewUpgrade(u)
			continue
		}
		s.Queued = append(s.Queued, u.Name)
	}
	s.Last = viewUpgrade(lastFinished(o.upgrades))
	for _, schedule := range o.schedules {
		s.Schedules = append(s.Schedules, viewSchedule(schedule))
	}
	slices.SortFunc(s.Schedules, func(a, b render.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func lastFinished(upgrades []v1alpha1.ClusterUpgrade) *v1alpha1.ClusterUpgrade {
	var last *v1alpha1.ClusterUpgrade
	for i := range upgrades {
		u := &upgrades[i]
		if u.Status.Outcome != "" && (last == nil || last.Status.CompletionTime.Before(u.Status.CompletionTime)) {
			last = u
		}
	}
	return last
}

func viewUpgrade(u *v1alpha1.ClusterUpgrade) *render.Upgrade {
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
		Stalled:        stalled(u),
		RequestedBy:    requestedBy(u.Annotations[v1alpha1.RequestedByAnnotation], u.Annotations[v1alpha1.CreatedByAnnotation]),
	}
	if c := meta.FindStatusCondition(u.Status.Conditions, v1alpha1.ConditionSucceeded); c != nil {
		v.Reason, v.Message = v1alpha1.Reason(c.Reason), c.Message
	}
	return v
}

func stalled(u *v1alpha1.ClusterUpgrade) bool {
	return meta.IsStatusConditionTrue(u.Status.Conditions, v1alpha1.ConditionStalled)
}

func viewSchedule(m v1alpha1.MaintenanceSchedule) render.Schedule {
	v := render.Schedule{Name: m.Name, State: cmp.Or(m.Status.State, "Unknown"), Until: instant(m.Status.UntilTime)}
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionValid); c != nil && c.Status == metav1.ConditionFalse {
		v.State, v.Until, v.Message = "Invalid", nil, c.Message
	}
	return v
}

// instant is t in UTC, as JSON shows it.
func instant(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}
