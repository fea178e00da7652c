package schedule

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// At reports whether upgrades of type t may begin at now on a node with these labels. Every
// exclusion holds an empty type.
func At(schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, t v1alpha1.UpgradeType, now time.Time) Verdict {
	return NewMoment(schedules, now).At(nodeLabels, t)
}

// IgnoringWindows is At for an upgrade with windowPolicy Ignore: only exclusions count.
func IgnoringWindows(schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, t v1alpha1.UpgradeType, now time.Time) Verdict {
	return NewMoment(schedules, now).IgnoringWindows(nodeLabels, t)
}

// Openings returns the openings between two instants, cut to them and to the Horizon, for
// upgrades of type t on a node with these labels. It fails if a schedule is invalid.
func Openings(schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, t v1alpha1.UpgradeType, from, until time.Time) ([]Opening, error) {
	m := NewMoment(schedules, from)
	if m.invalid != nil {
		return nil, m.invalid
	}
	_, matching := m.matching(nodeLabels)
	windows, exclusions := entries(matching, t)
	seen := newTimeline(windows, exclusions, from, earlier(until, from.Add(Horizon)))
	var list []Opening
	for _, s := range seen.effective {
		list = append(list, seen.opening(s, windows))
	}
	return list, nil
}
