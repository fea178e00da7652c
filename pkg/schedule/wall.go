package schedule

import (
	"fmt"
	"time"
)

// zone loads an IANA zone; an empty name is UTC. Local is refused: it is
// another zone on every machine.
func zone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, fmt.Errorf("%q is another zone on every machine; write its IANA name, such as Europe/Berlin", name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not an IANA time zone such as Europe/Berlin", name)
	}
	return location, nil
}

// wall returns what a clock in the zone shows at t, as a Time in UTC, in which no hour is
// missing or repeated.
func wall(t time.Time, in *time.Location) time.Time {
	t = t.In(in)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instants returns when a clock in the zone shows w. For an ordinary time, first and last
// are the same instant. A time that a fold repeats has two. A time in a gap has none: first
// is then the transition, at which the clock jumps past w, and last is w moved forward by
// the gap.
func instants(w time.Time, in *time.Location) (first, last time.Time, gap bool) {
	guess := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, in)
	begin, end := guess.ZoneBounds()
	offsets := []int{offset(guess)}
	if !begin.IsZero() {
		offsets = append(offsets, offset(begin.Add(-time.Second)))
	}
	if !end.IsZero() {
		offsets = append(offsets, offset(end))
	}
	for _, o := range offsets {
		at := w.Add(-time.Duration(o) * time.Second)
		if offset(at.In(in)) != o {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if !first.IsZero() {
		return first, last, false
	}
	for _, transition := range []time.Time{begin, end} {
		if transition.IsZero() {
			continue
		}
		before := w.Add(-time.Duration(offset(transition.Add(-time.Second))) * time.Second)
		after := w.Add(-time.Duration(offset(transition)) * time.Second)
		if !before.Before(transition) && after.Before(transition) {
			return transition.UTC(), before, true
		}
	}
	return guess.UTC(), guess.UTC(), false
}

// offset returns the offset of t's location at t, in seconds east of UTC.
func offset(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}
