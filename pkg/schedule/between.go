package schedule

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Calendar is when upgrades may begin between two instants, and which exclusions keep them
// from it. Times before and after are cut off.
type Calendar struct {
	Openings []Opening
	// Exclusions are in the order of their starts; they may overlap.
	Exclusions []Exclusion
}

// Exclusion is one occurrence of an exclusion.
type Exclusion struct {
	Start, End time.Time
	// Name is schedule/exclusion.
	Name, Reason string
}

// Between returns the calendar from the moment until an instant, for upgrades of type t on
// a node with these labels. Nodes to which the same schedules apply share one. It returns
// an error if a schedule is invalid, because then nothing opens.
func (m *Moment) Between(nodeLabels map[string]string, t v1alpha1.UpgradeType, until time.Time) (*Calendar, error) {
	if m.invalid != nil {
		return &Calendar{}, m.invalid
	}
	key, matching := m.matching(nodeLabels)
	key += " " + string(t) + until.String()
	if m.calendars[key] == nil {
		windows, exclusions := entries(matching, t)
		m.calendars[key] = newCalendar(windows, exclusions, m.now, until)
	}
	return m.calendars[key], nil
}

func newCalendar(windows, exclusions []entry, from, until time.Time) *Calendar {
	c, seen := &Calendar{}, newTimeline(windows, exclusions, from, until)
	for _, s := range seen.effective {
		c.Openings = append(c.Openings, seen.opening(s, windows))
	}
	for _, e := range exclusions {
		for _, s := range within([]entry{e}, from, until) {
			c.Exclusions = append(c.Exclusions, Exclusion{Start: s.start.UTC(), End: s.end.UTC(), Name: e.name, Reason: e.reason})
		}
	}
	slices.SortStableFunc(c.Exclusions, func(a, b Exclusion) int { return a.Start.Compare(b.Start) })
	return c
}
