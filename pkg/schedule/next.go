package schedule

import (
	"slices"
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
		if e.series.overlaps(s) {
			opening.Windows = append(opening.Windows, e.name)
		}
	}
	return opening
}

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

// Horizon is how far ahead a search goes: far enough for a rule on the 29th of February
// across a year like 2100 that has none.
const Horizon = 9 * 366 * 24 * time.Hour

// firstSearch is how far ahead a search goes first: more than a week, in which most
// schedules open.
const firstSearch = 10 * 24 * time.Hour

// timeline has the windows and exclusions from now until edge. A span that ends at edge
// may continue after it.
type timeline struct {
	now, edge          time.Time
	windows, effective []span // all windows; the parts that no exclusion covers
	exclusions         []span
}

// search extends the timeline until enough returns true, at most to the Horizon.
func search(windows, exclusions []entry, now time.Time, enough func(timeline) bool) timeline {
	for ahead := firstSearch; ahead < Horizon; ahead *= 6 {
		if seen := newTimeline(windows, exclusions, now, now.Add(ahead)); enough(seen) {
			return seen
		}
	}
	return newTimeline(windows, exclusions, now, now.Add(Horizon))
}

func newTimeline(windows, exclusions []entry, now, edge time.Time) timeline {
	o := timeline{now: now, edge: edge, windows: within(windows, now, edge), exclusions: within(exclusions, now, edge)}
	o.effective = subtract(o.windows, o.exclusions)
	return o
}

// within returns the times that any of the entries covers, between from and until.
func within(list []entry, from, until time.Time) []span {
	var spans []span
	for _, e := range list {
		for _, s := range e.series.until(until) {
			s = span{later(s.start, from), earlier(s.end, until)}
			if s.start.Before(s.end) {
				spans = append(spans, s)
			}
		}
	}
	return union(spans)
}

// end returns when s ends; nil if that is not before the edge.
func (o timeline) end(s span) *time.Time {
	if !s.end.Before(o.edge) {
		return nil
	}
	return &s.end
}

// at returns the span of the list that covers now.
func (o timeline) at(list []span) (span, bool) {
	if len(list) == 0 || list[0].start.After(o.now) {
		return span{}, false
	}
	return list[0], true
}

// covering returns the entry that covers t and ends last, within the timeline.
func (o timeline) covering(list []entry, t time.Time) (by entry) {
	var end time.Time
	for _, e := range list {
		for _, s := range e.series.until(o.edge) {
			if s.covers(t) && earlier(s.end, o.edge).After(end) {
				by, end = e, earlier(s.end, o.edge)
			}
		}
	}
	return by
}

// The states of a schedule, as in its status.
const (
	StateOpen     = "Open"
	StateClosed   = "Closed"
	StateExcluded = "Excluded"
)

// State returns the state of the schedule alone, and when that changes, if that is
// known. An invalid schedule is Closed; see Check.
func State(s *v1alpha1.MaintenanceSchedule, now time.Time) (string, *time.Time) {
	alone := Alone(s, now)
	return alone.State(), alone.Until
}

// Alone returns the verdict of the schedule alone. Every exclusion counts, whatever it
// excludes.
func Alone(s *v1alpha1.MaintenanceSchedule, now time.Time) Verdict {
	c, err := compile(s, now)
	if err != nil {
		return Verdict{Reason: v1alpha1.ReasonScheduleInvalid, Message: err.Error()}
	}
	return verdictOf(c.windows, c.exclusions, true, now)
}

// Verdict reports whether an upgrade may begin on a node, and why not.
type Verdict struct {
	// Open reports whether it may begin.
	Open bool
	// Reason is empty when open; else WindowClosed, Excluded or
	// ScheduleInvalid.
	Reason v1alpha1.Reason
	// Message is one sentence on that, with the time and its zone.
	Message string
	// Window is the window or exclusion that decided, as schedule/name.
	Window string
	// Why is the reason that an exclusion gives, and who requested it. Empty: there is none.
	Why string
	// Until is when this verdict may change: an open window or an exclusion
	// ends, a closed one opens. Nil: not within the Horizon.
	Until *time.Time
}

// State returns the verdict as a schedule's state.
func (v Verdict) State() string {
	switch {
	case v.Open:
		return StateOpen
	case v.Reason == v1alpha1.ReasonExcluded:
		return StateExcluded
	}
	return StateClosed
}

// span is the time from start, inclusive, to end, exclusive.
type span struct{ start, end time.Time }

func (s span) covers(t time.Time) bool { return !s.start.After(t) && s.end.After(t) }

func (s span) overlaps(other span) bool {
	return s.start.Before(other.end) && other.start.Before(s.end)
}

func (s span) length() time.Duration { return s.end.Sub(s.start) }

// union merges spans that overlap or touch. The result is in order.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.start.Compare(b.start) })
	var merged []span
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && !s.start.After(merged[last].end) {
			merged[last].end = later(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// subtract returns the parts of the spans that no cut covers. Both are unions.
func subtract(spans, cuts []span) []span {
	var rest []span
	for _, s := range spans {
		for len(cuts) > 0 && !cuts[0].end.After(s.start) {
			cuts = cuts[1:]
		}
		for _, cut := range cuts {
			if !cut.start.Before(s.end) {
				break
			}
			if s.start.Before(cut.start) {
				rest = append(rest, span{s.start, cut.start})
			}
			s.start = cut.end
		}
		if s.start.Before(s.end) {
			rest = append(rest, s)
		}
	}
	return rest
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
