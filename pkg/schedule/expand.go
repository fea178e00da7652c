package schedule

import (
	"time"

	"github.com/teambition/rrule-go"
)

// occurrences enumerates, in order, what the rule makes of o: all that end
// after now and start within the Horizon, and perhaps some before.
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

// starts enumerates, in order, the wall-clock starts of a rule that begins at
// begin: all between from and until, and perhaps some before and after. rrule-go
// searches for a next occurrence up to the year 9999, which takes long for a
// rule that has none: it is asked about years that are the same, at the end of
// that time, instead.
func (r rule) starts(begin, from, until time.Time) (func() (time.Time, bool), error) {
	option, begin := r.skip(begin, from)
	years := sameYears(begin.Year(), until.Year()+1)
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

// sameYears is how many years later, as late as rrule-go knows any, the years
// from first to last come again with the same days of the week. It ends, as the
// Gregorian calendar repeats itself every 400 years.
func sameYears(first, last int) int {
	later := rrule.MAXYEAR - last
	for !alike(first, last, later) {
		later--
	}
	return later
}

func alike(first, last, later int) bool {
	newYear := func(year int) time.Weekday { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Weekday() }
	for year := first; year <= last+1; year++ {
		if newYear(year) != newYear(year+later) {
			return false
		}
	}
	return true
}

// skip is the rule begun anew as late as possible, but not after from, so that
// the years in between need no expansion. It moves begin by whole intervals. A
// rule with a COUNT has to count from its true begin.
func (r rule) skip(begin, from time.Time) (rrule.ROption, time.Time) {
	o := r.option
	if o.Count > 0 || !begin.Before(from) {
		return o, begin
	}
	if len(o.Byweekday)+len(o.Bymonthday) == 0 && (o.Freq == rrule.MONTHLY || o.Freq == rrule.YEARLY) {
		o.Bymonthday = []int{begin.Day()}
		if o.Freq == rrule.YEARLY && len(o.Bymonth) == 0 {
			o.Bymonth = []int{int(begin.Month())}
		}
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
			begin = begin.AddDate(0, n, 1-begin.Day())
		}
	default:
		if n := whole(years); n > 0 {
			begin = time.Date(begin.Year()+n, 1, 1, begin.Hour(), begin.Minute(), begin.Second(), 0, time.UTC)
		}
	}
	return o, begin
}
