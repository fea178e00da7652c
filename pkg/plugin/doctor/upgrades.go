package doctor

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// upgrade says whether an upgrade failed, and nothing has been asked for since.
func upgrade(f Facts) []Line {
	const see = "See what it needs: kubectl upgrade status"
	for _, u := range f.Upgrades {
		if u.Status.Stalled() {
			reason, message := u.Status.Explain()
			return []Line{{"upgrade", Warn, explained(fmt.Sprintf("ClusterUpgrade %s does not go on by itself: %s", u.Name, reason), message), see}}
		}
	}
	last := f.LastUpgrade
	switch {
	case len(f.Upgrades) > 0:
		return []Line{{"upgrade", OK, fmt.Sprintf("ClusterUpgrade %s has not ended, and needs nobody", f.Upgrades[0].Name), ""}}
	case last == nil:
		return nil
	case last.Status.Outcome == v1alpha1.OutcomeFailed || last.Status.Outcome == v1alpha1.OutcomeRolledBack:
		_, message := last.Status.Explain()
		return []Line{{"upgrade", Warn, explained(fmt.Sprintf("the last upgrade, %s, ended: %s", last.Name, last.Status.Outcome), message), see}}
	}
	return []Line{{"upgrade", OK, fmt.Sprintf("the last upgrade, %s, ended: %s", last.Name, last.Status.Outcome), ""}}
}

func explained(what, message string) string { return strings.TrimSuffix(what+": "+message, ": ") }

// windows says whether a window opens at all, and which exclusions hold now.
func windows(f Facts) (lines []Line) {
	const create = "Create one: docs/schedules.md"
	hasWindows := func(s v1alpha1.MaintenanceSchedule) bool { return len(s.Spec.MaintenanceWindows) > 0 }
	switch {
	case !f.Installed():
		return nil
	case f.Schedules == nil:
		return []Line{{"windows", Unknown, "MaintenanceSchedules may not be read", "Ask an administrator for the role kubectl-upgrade-view (docs/commands.md)"}}
	case !slices.ContainsFunc(f.Schedules, hasWindows):
		lines = append(lines, Line{"windows", Warn, "no MaintenanceSchedule has a window: no node begins, unless an upgrade ignores windows", create})
	default:
		lines = append(lines, openings(f, create)...)
	}
	for _, s := range f.Schedules {
		s.Spec.NodeSelector = nil // of whichever nodes
		if v := schedule.NewMoment([]v1alpha1.MaintenanceSchedule{s}, f.Now).IgnoringWindows(nil, ""); v.Reason == v1alpha1.ReasonExcluded {
			lines = append(lines, Line{"windows", Warn, v.Message, "Wait until it ends, or end it: " + request.EndExclusion(&s)})
		}
	}
	return lines
}

// openings counts the nodes whose windows open.
func openings(f Facts, create string) []Line {
	moment, all, open := schedule.NewMoment(f.Schedules, f.Now), f.managed(), 0
	for _, n := range all {
		switch v := moment.At(n.Labels, v1alpha1.TypePatch); {
		case v.Reason == v1alpha1.ReasonScheduleInvalid:
			return []Line{{"windows", Warn, "no node begins: " + v.Message, "Correct the MaintenanceSchedule; `kubectl upgrade windows` reads it"}}
		case v.Reason != v1alpha1.ReasonWindowClosed || v.Until != nil:
			open++
		}
	}
	switch {
	case len(all) == 0:
		return nil
	case open == 0:
		return []Line{{"windows", Warn, "no maintenance window of any node opens: none selects it, or those that do are over", create}}
	}
	return []Line{{"windows", OK, fmt.Sprintf("%d of %d nodes have maintenance windows", open, len(all)), ""}}
}

// managed returns the nodes that the policy selects.
func (f Facts) managed() []corev1.Node {
	if f.Policy == nil {
		return f.Nodes
	}
	selects := view.Selects(f.Policy.Spec.NodeSelector)
	return slices.DeleteFunc(slices.Clone(f.Nodes), func(n corev1.Node) bool { return !selects(n.Labels) })
}
