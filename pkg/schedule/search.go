package schedule

import "time"

// Horizon is how far ahead anything is looked for: far enough for a rule on
// the 29th of February across a year that leaves it out.
const Horizon = 9 * 366 * 24 * time.Hour

// firstLook is how far ahead is looked at first: a week and some, in which most
// schedules open.
const firstLook = 10 * 24 * time.Hour

// outlook is what windows and exclusions come to from now until edge. A span
// that ends at edge may go on after it.
type outlook struct {
	now, edge          time.Time
	windows, effective []span // all windows; what exclusions leave of them
	exclusions         []span
}

// foresee extends the outlook until enough is known, at most to the Horizon.
func foresee(windows, exclusions []entry, now time.Time, enough func(outlook) bool) outlook {
	for ahead := firstLook; ahead < Horizon; ahead *= 6 {
		if seen := survey(windows, exclusions, now, now.Add(ahead)); enough(seen) {
			return seen
		}
	}
	return survey(windows, exclusions, now, now.Add(Horizon))
}

func survey(windows, exclusions []entry, now, edge time.Time) outlook {
	o := outlook{now: now, edge: edge, windows: within(windows, now, edge), exclusions: within(exclusions, now, edge)}
	o.effective = subtract(o.windows, o.exclusions)
	return o
}

// within is when any of the entries covers, cut to from and until.
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

// end is when s ends; nil: not within what was looked at.
func (o outlook) end(s span) *time.Time {
	if !s.end.Before(o.edge) {
		return nil
	}
	return &s.end
}

// at is the span of the list that covers now.
func (o outlook) at(list []span) (span, bool) {
	if len(list) == 0 || list[0].start.After(o.now) {
		return span{}, false
	}
	return list[0], true
}

// covering returns the entry that covers t and ends last, within the outlook.
func (o outlook) covering(list []entry, t time.Time) (by entry) {
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
