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
	open := active(o.upgrades)
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

// active are the upgrades that have not ended: the one at work, then the
// queue, oldest first. Which one that is the coordinator says, who lets a Reboot
// and an upgrade that brings a version change places.
func active(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var open []*v1alpha1.ClusterUpgrade
	for i := range upgrades {
		if upgrades[i].Status.Outcome == "" {
			open = append(open, &upgrades[i])
		}
	}
	slices.SortFunc(open, func(a, b *v1alpha1.ClusterUpgrade) int {
		return cmp.Or(
			rank(a)-rank(b),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return open
}

func rank(u *v1alpha1.ClusterUpgrade) int {
	rank := 0
	if u.Status.TriggerTime == nil || viewUpgrade(u).Reason == v1alpha1.ReasonQueued {
		rank = 2
	}
	if stepsAside(u) {
		rank++
	}
	return rank
}

// stepsAside reports whether people hold the upgrade back: meanwhile it holds up no
// other.
func stepsAside(u *v1alpha1.ClusterUpgrade) bool { return viewUpgrade(u).Reason.Info().HeldByPeople }

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
