package report

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// addCalendars adds the windows and exclusions of each node. They follow from the schedules
// as they are now.
func (b *builder) addCalendars() {
	start, until := b.start(), b.end()
	if p := b.report.Upgrade.PredictedEndTime; p != nil {
		until = later(until, *p)
	}
	moment := schedule.NewMoment(b.snapshot.Schedules, start)
	labels := make(map[string]map[string]string, len(b.snapshot.Nodes))
	for i := range b.snapshot.Nodes {
		labels[b.snapshot.Nodes[i].Name] = b.snapshot.Nodes[i].Labels
	}
	index := map[*schedule.Calendar]int{}
	for i := range b.report.Nodes {
		n := &b.report.Nodes[i]
		c, err := moment.Between(labels[n.Name], b.report.Upgrade.Type, until.Add(beyond))
		if b.invalid = err; err != nil {
			b.report.Calendars = []Calendar{{Openings: []Opening{}}}
			return
		}
		known, ok := index[c]
		if !ok {
			known = len(b.report.Calendars)
			index[c] = known
			b.report.Calendars = append(b.report.Calendars, calendarOf(c, until))
		}
		n.Calendar = known
	}
}

// beyond is how far after the upgrade's end the end of a window is looked for.
const beyond = 7 * 24 * time.Hour

// calendarOf returns what begins before an instant.
func calendarOf(c *schedule.Calendar, until time.Time) Calendar {
	out := Calendar{Openings: []Opening{}}
	for _, o := range c.Openings {
		out.Openings = append(out.Openings, Opening{Start: o.Start, End: o.End, Windows: o.Windows})
	}
	for _, x := range c.Exclusions {
		out.Exclusions = append(out.Exclusions, Exclusion{Start: x.Start, End: x.End, Name: x.Name, Reason: x.Reason})
	}
	out.Openings = slices.DeleteFunc(out.Openings, func(o Opening) bool { return o.Start.After(until) })
	out.Exclusions = slices.DeleteFunc(out.Exclusions, func(x Exclusion) bool { return x.Start.After(until) })
	return out
}
