package schedule

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Opening is a time in which upgrades may begin: windows that overlap or touch
// are one opening, and what exclusions cover is cut out.
type Opening struct {
	// Start is the first instant, in UTC; now if the opening began before.
	Start time.Time
	// End is the first instant after, in UTC. Zero: it does not end within
	// the Horizon.
	End time.Time
	// Windows names the windows that it comes from, as schedule/window, in
	// the order of the schedules.
	Windows []string
}

// Next returns the next n openings from now on, in order, for upgrades of type t on a
// node with these labels; fewer if there are fewer within the Horizon. Every exclusion
// applies to an empty type. It returns an error if a schedule is invalid, because then
// nothing opens.
func Next(schedules []v1alpha1.MaintenanceSchedule, nodeLabels map[string]string, t v1alpha1.UpgradeType, now time.Time, n int) ([]Opening, error) {
	return NewMoment(schedules, now).Next(nodeLabels, t, n)
}

// Next returns the next n openings from the moment on.
func (m *Moment) Next(nodeLabels map[string]string, t v1alpha1.UpgradeType, n int) ([]Opening, error) {
	if m.invalid != nil || n <= 0 {
		return nil, m.invalid
	}
	_, matching := m.matching(nodeLabels)
	windows, exclusions := entries(matching, t)
	seen := search(windows, exclusions, m.now, func(o timeline) bool {
		return len(o.effective) >= n && o.end(o.effective[n-1]) != nil
	})
	var list []Opening
	for _, s := range seen.effective[:min(n, len(seen.effective))] {
		opening := seen.opening(s, windows)
		if seen.end(s) == nil {
			opening.End = time.Time{}
		}
		list = append(list, opening)
	}
	return list, nil
}

func (o timeline) opening(s span, windows []entry) Opening {
	opening := Opening{Start: s.start.UTC(), End: s.end.UTC()}
	for _, e := range windows {
		if e.series.meets(s) {
			opening.Windows = append(opening.Windows, e.name)
		}
	}
	return opening
}
