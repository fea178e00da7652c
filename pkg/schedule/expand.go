package schedule

import (
	"math"
	"slices"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// occurrences returns an iterator over the occurrences of o, in order: all that end after
// now and start within the Horizon, and perhaps earlier ones.
func (r rule) occurrences(o *occurrence, now time.Time) (func() (span, bool), error) {
	from, until := wall(now, o.starts.in).Add(-o.longest()), now.Add(Horizon)
	if o.written.start.After(until) {
		return func() (span, bool) { return span{}, false }, nil
	}
	starts, err := r.starts(o.begin, from, until)
	if err != nil {
		return nil, err
	}
	return func() (span, bool) {
		w, more := starts()
		if !more {
			return span{}, false
		}
		one := o.at(w)
		return one, !one.start.After(until) && (r.until.IsZero() || !one.start.After(r.until))
	}, nil
}

// starts returns an iterator over the wall-clock starts of a rule that begins at begin, in
// order: all between from and until, and perhaps others before and after. rrule-go
// searches for the next occurrence up to the year 9999, which takes long for a rule that
// has none. So it expands the rule in equal years shortly before 9999 instead.
func (r rule) starts(begin, from, until time.Time) (func() (time.Time, bool), error) {
	option, start := r.skip(begin, from)
	if len(r.option.Bysetpos) > 0 {
		option.Bysetpos, option.Count = nil, 0
		start = periodStart(option.Freq, start)
	}
	years := yearShift(start.Year(), until.Year()+1)
	option.Dtstart = start.AddDate(years, 0, 0)
	expanded, err := rrule.NewRRule(option)
	if err != nil {
		return nil, err
	}
	iterate := expanded.Iterator()
	next := func() (time.Time, bool) {
		w, more := iterate()
		return w.AddDate(-years, 0, 0), more
	}
	if len(r.option.Bysetpos) > 0 {
		return r.setPositions(next, begin), nil
	}
	return next, nil
}

// yearShift returns the largest number of years, within rrule-go's limit, after which the
// years from first to last repeat with the same days of the week. It terminates, because
// the Gregorian calendar repeats itself every 400 years.
func yearShift(first, last int) int {
	later := rrule.MAXYEAR - last
	for !sameWeekdays(first, last, later) {
		later--
	}
	return later
}

// sameWeekdays reports whether the years from first to last have the same days of the week
// as those later by that many years.
func sameWeekdays(first, last, later int) bool {
	newYear := func(year int) time.Weekday { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Weekday() }
	for year := first; year <= last+1; year++ {
		if newYear(year) != newYear(year+later) {
			return false
		}
	}
	return true
}

// skip returns the rule with a begin as late as possible, but not after from, so that the
// years in between need no expansion. It moves begin by whole intervals. A rule with a
// COUNT keeps its begin, because it has to count from there.
func (r rule) skip(begin, from time.Time) (rrule.ROption, time.Time) {
	o := r.spelledOut(begin)
	if o.Count > 0 || !begin.Before(from) {
		return o, begin
	}
	interval := max(1, o.Interval)
	whole := func(units int) int { return units / interval * interval }
	days := int(from.Sub(begin) / (24 * time.Hour))
	years := from.Year() - begin.Year()
	months := 12*years + int(from.Month()) - int(begin.Month())
	switch o.Freq {
	case rrule.DAILY:
		return o, begin.AddDate(0, 0, whole(days))
	case rrule.WEEKLY:
		return o, begin.AddDate(0, 0, 7*whole(days/7))
	case rrule.MONTHLY:
		if n := whole(months); n > 0 {
			begin = periodStart(o.Freq, begin).AddDate(0, n, 0)
		}
	default:
		if n := whole(years); n > 0 {
			begin = periodStart(o.Freq, begin).AddDate(n, 0, 0)
		}
	}
	return o, begin
}

// spelledOut returns the rule with the day of the month, and the month of the year, that it
// would otherwise take from begin.
func (r rule) spelledOut(begin time.Time) rrule.ROption {
	o := r.option
	if len(o.Byweekday)+len(o.Bymonthday) > 0 || o.Freq != rrule.MONTHLY && o.Freq != rrule.YEARLY {
		return o
	}
	o.Bymonthday = []int{begin.Day()}
	if o.Freq == rrule.YEARLY && len(o.Bymonth) == 0 {
		o.Bymonth = []int{int(begin.Month())}
	}
	return o
}

// periodStart returns the first day of t's month or year, at t's time of day.
func periodStart(freq rrule.Frequency, t time.Time) time.Time {
	if freq == rrule.YEARLY {
		return t.AddDate(0, 0, 1-t.YearDay())
	}
	return t.AddDate(0, 0, 1-t.Day())
}

// series has the occurrences of one period from now to the Horizon, in order. They are
// computed on demand; those that overlap or touch are merged, and those without length
// are omitted.
type series struct {
	now   time.Time
	next  func() (span, bool) // nil: there are no more
	made  time.Time           // spans has every occurrence that starts before it
	spans []span
}

// newSeries expands p from now on. exclusion selects the rule for its ends.
func newSeries(p v1alpha1.Period, in *time.Location, exclusion bool, now time.Time) (*series, error) {
	written := span{p.StartTime.Time.UTC(), p.EndTime.Time.UTC()}
	if p.Recurrence == "" {
		s := &series{now: now}
		s.add(written)
		return s, nil
	}
	r, err := parseRule(p.Recurrence)
	if err != nil {
		return nil, err
	}
	o := newOccurrence(written, in, exclusion)
	next, err := r.occurrences(o, now)
	return &series{now: now, next: next}, err
}

func (s *series) add(one span) {
	if !one.end.After(s.now) || !one.end.After(one.start) {
		return
	}
	if last := len(s.spans) - 1; last >= 0 && !one.start.After(s.spans[last].end) {
		s.spans[last].end = later(s.spans[last].end, one.end)
		return
	}
	s.spans = append(s.spans, one)
}

// until returns the spans that start before edge. Their ends are final up to edge.
func (s *series) until(edge time.Time) []span {
	for s.next != nil && s.made.Before(edge) {
		one, more := s.next()
		if !more {
			s.next = nil
			break
		}
		s.made = one.start
		s.add(one)
	}
	before, _ := slices.BinarySearchFunc(s.spans, edge, func(one span, edge time.Time) int { return one.start.Compare(edge) })
	return s.spans[:before]
}

// overlaps reports whether the period covers a part of one. The spans are disjoint and in
// order, so only the last that starts before the end of one can be the latest to end.
func (s *series) overlaps(one span) bool {
	spans := s.until(one.end)
	return len(spans) > 0 && spans[len(spans)-1].end.After(one.start)
}

// setPositions chooses with BYSETPOS from the days of each month or year, and counts
// those from begin on. rrule-go does the same, but goes through all days again
// for each position.
func (r rule) setPositions(next func() (time.Time, bool), begin time.Time) func() (time.Time, bool) {
	var chosen []time.Time
	given := 0
	ahead, more := next()
	return func() (time.Time, bool) {
		for len(chosen) == 0 {
			if !more {
				return time.Time{}, false
			}
			set := []time.Time{ahead}
			for ahead, more = next(); more && r.sameSet(set[0], ahead); ahead, more = next() {
				set = append(set, ahead)
			}
			chosen = r.choose(set, begin)
		}
		first := chosen[0]
		chosen = chosen[1:]
		given++
		return first, r.option.Count == 0 || given <= r.option.Count
	}
}

// sameSet reports whether two days are in the same month or year.
func (r rule) sameSet(a, b time.Time) bool {
	return a.Year() == b.Year() && (r.option.Freq == rrule.YEARLY || a.Month() == b.Month())
}

func (r rule) choose(set []time.Time, begin time.Time) []time.Time {
	var chosen []time.Time
	for i, w := range set {
		place, fromEnd := i+1, i-len(set)
		if !w.Before(begin) && (slices.Contains(r.option.Bysetpos, place) || slices.Contains(r.option.Bysetpos, fromEnd)) {
			chosen = append(chosen, w)
		}
	}
	return chosen
}

// occurrence turns a wall-clock start into instants.
type occurrence struct {
	starts    clock
	ends      clock // its own cache, as ends are at other times than starts
	exclusion bool
	written   span          // the first occurrence, as written
	begin     time.Time     // what the clock shows at its start
	wallLasts time.Duration // its length on the wall clock
}

func newOccurrence(written span, in *time.Location, exclusion bool) *occurrence {
	begin := wall(written.start, in)
	return &occurrence{clock{in: in}, clock{in: in}, exclusion, written, begin, wall(written.end, in).Sub(begin)}
}

// longest returns a duration longer than any occurrence on the wall clock, up to the
// maximum of a Duration: 292 years.
func (o *occurrence) longest() time.Duration {
	const slack = 2 * clockSlack
	return min(max(o.written.length(), o.wallLasts), math.MaxInt64-slack) + slack
}

// at returns the occurrence that starts when the clock shows w. A window may have no
// length; it is then closed that night.
func (o *occurrence) at(w time.Time) span {
	if w.Equal(o.begin) {
		return o.written
	}
	start, moved, gap := o.starts.instants(w)
	if gap {
		start = moved
	}
	elapsed := start.Add(o.written.length())
	first, last, _ := o.ends.instants(w.Add(o.wallLasts))
	if o.exclusion {
		return span{start, later(elapsed, last)}
	}
	return span{start, earlier(elapsed, first)}
}
