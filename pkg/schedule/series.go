package schedule

import (
	"time"

	"github.com/teambition/rrule-go"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Horizon is how far ahead anything is looked for: far enough for a rule on
// the 29th of February across a year that leaves it out.
const Horizon = 9 * 366 * 24 * time.Hour

// span is from start (in) to end (out).
type span struct{ start, end time.Time }

// series is the occurrences of one period that end after now, in order, made
// as they are asked for.
type series struct {
	next  func() (span, bool)
	now   time.Time
	spans []span
}

// newSeries expands p from now on. exclusion says by which rule its ends are
// resolved.
func newSeries(p v1alpha1.Period, in *time.Location, exclusion bool, now time.Time) (*series, error) {
	s := &series{now: now}
	if p.Recurrence == "" {
		only := []span{{p.StartTime.Time, p.EndTime.Time}}
		s.next = func() (span, bool) {
			if len(only) == 0 {
				return span{}, false
			}
			one := only[0]
			only = nil
			return one, true
		}
		return s, nil
	}
	r, err := parseRule(p.Recurrence)
	if err != nil {
		return nil, err
	}
	begin, finish := wall(p.StartTime.Time, in), wall(p.EndTime.Time, in)
	starts, err := r.starts(begin)
	if err != nil {
		return nil, err
	}
	o := occurrence{
		in: in, exclusion: exclusion, first: p.StartTime.Time,
		lasts: p.EndTime.Sub(p.StartTime.Time), wallLasts: finish.Sub(begin),
	}
	s.next = func() (span, bool) {
		w, more := starts()
		if !more {
			return span{}, false
		}
		one := o.at(w)
		if !r.until.IsZero() && one.start.After(r.until) || one.start.After(now.Add(Horizon)) {
			return span{}, false
		}
		return one, true
	}
	return s, nil
}

// The Gregorian calendar repeats itself, weekdays included, after this many
// years.
const cycle = 400

// starts enumerates the wall-clock starts from begin on. rrule-go searches for
// a next occurrence up to the year 9999, which takes long for a rule that has
// none: it is asked about the same days at the end of that time instead.
func (r rule) starts(begin time.Time) (func() (time.Time, bool), error) {
	years := (rrule.MAXYEAR - begin.Year()) / cycle * cycle
	option := r.option
	option.Dtstart = begin.AddDate(years, 0, 0)
	expanded, err := rrule.NewRRule(option)
	if err != nil {
		return nil, err
	}
	next := expanded.Iterator()
	return func() (time.Time, bool) {
		w, more := next()
		return w.AddDate(-years, 0, 0), more
	}, nil
}

// occurrence turns a wall-clock start into instants.
type occurrence struct {
	in        *time.Location
	exclusion bool
	first     time.Time     // nothing begins before it
	lasts     time.Duration // as written, in elapsed time
	wallLasts time.Duration // as written, on the wall clock
}

// at resolves the occurrence that starts when the clock shows w. A window may
// come out without any length; it is then closed that night.
func (o occurrence) at(w time.Time) span {
	start, moved, gap := instants(w, o.in)
	if gap {
		start = moved
	}
	elapsed := start.Add(o.lasts)
	first, last, _ := instants(w.Add(o.wallLasts), o.in)
	if o.exclusion {
		return span{start, later(elapsed, last)}
	}
	return span{later(start, o.first), earlier(elapsed, first)}
}

// fill makes occurrences until one starts after t, or there are no more.
func (s *series) fill(t time.Time) {
	for s.next != nil && (len(s.spans) == 0 || !s.spans[len(s.spans)-1].start.After(t)) {
		one, more := s.next()
		if !more {
			s.next = nil
			return
		}
		if one.end.After(s.now) && one.end.After(one.start) {
			s.spans = append(s.spans, one)
		}
	}
}

// covers says whether t, not before now, lies in an occurrence, and when that
// ends.
func (s *series) covers(t time.Time) (end time.Time, ok bool) {
	s.fill(t)
	for _, one := range s.spans {
		if !one.start.After(t) && one.end.After(t) {
			end, ok = later(end, one.end), true
		}
	}
	return end, ok
}

// after is the first start after t.
func (s *series) after(t time.Time) (time.Time, bool) {
	s.fill(t)
	for _, one := range s.spans {
		if one.start.After(t) {
			return one.start, true
		}
	}
	return time.Time{}, false
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
