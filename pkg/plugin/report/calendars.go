package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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
		out.Exclusions = append(out.Exclusions, Exclusion{Start: x.Start, End: x.End, Name: x.Name, Comment: x.Reason})
	}
	out.Openings = slices.DeleteFunc(out.Openings, func(o Opening) bool { return o.Start.After(until) })
	out.Exclusions = slices.DeleteFunc(out.Exclusions, func(x Exclusion) bool { return x.Start.After(until) })
	return out
}

// start returns when the report begins: at the trigger, or else with the first step.
func (b *builder) start() time.Time {
	if start := b.report.Upgrade.StartTime; start != nil {
		return *start
	}
	start := b.end()
	for i := range b.report.Nodes {
		for _, step := range b.report.Nodes[i].Steps {
			start = earlier(start, step.Start)
		}
	}
	return start
}

// addNotes adds what is not known.
func (b *builder) addNotes() {
	note := func(format string, args ...any) {
		b.report.Notes = append(b.report.Notes, fmt.Sprintf(format, args...))
	}
	r := b.report
	if b.upgrade == nil {
		note("ClusterUpgrade %s was deleted: its findings, its images and its strategy are not known.", r.Upgrade.Name)
	}
	switch ended := r.Upgrade.Ended(); {
	case ended && len(b.record) == 0:
		note("There is no record of the nodes: it was removed, as historyLimit of the UpgradePolicy says how many are kept.")
	case ended && len(b.record) < int(b.record[0].Spec.Pieces):
		note("The record of the nodes is not complete: %d of its %d objects were found.", len(b.record), b.record[0].Spec.Pieces)
	}
	if b.others > 0 {
		note("%d earlier upgrades with this name are left out; `kubectl upgrade history %s` shows them.", b.others, r.Upgrade.Name)
	}
	if b.invalid != nil {
		note("Windows are not shown, because a schedule is invalid now: %s.", b.invalid)
	} else if len(b.snapshot.Schedules) > 0 {
		note("Windows and exclusions are those of the schedules that existed when this report was made.")
	}
	if b.isDerived() {
		note("Why a node waited is derived from the windows and from the times of the other nodes; a suspension or a missing approval is not recorded.")
	}
	if r.Upgrade.Changed && r.Upgrade.ChangedBy == "" {
		note("The upgrade was changed after it was created, and who did that last is not recorded: it was not changed by `kubectl upgrade`, but for example from Git. The API server's audit log has it.")
	}
	if r.Upgrade.RequestedBy == "" {
		note("Who requested the upgrade is not known: it was not created by `kubectl upgrade apply`, but for example from Git.")
	}
}

// isDerived reports whether a cause of a wait was derived.
func (b *builder) isDerived() bool {
	for i := range b.report.Nodes {
		for _, w := range b.report.Nodes[i].Waits {
			if w.Derived {
				return true
			}
		}
	}
	return false
}

// Unknown returns the reason for people: one that is empty is not known.
func Unknown(reason v1alpha1.Reason) string {
	if reason == "" {
		return "Unknown"
	}
	return string(reason)
}
