package schedule

import "time"

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
