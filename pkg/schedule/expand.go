package schedule

import (
	"time"

	"github.com/teambition/rrule-go"
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
