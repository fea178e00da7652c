package schedule

import (
	"time"

	"github.com/teambition/rrule-go"
)

// The Gregorian calendar repeats itself, weekdays included, after this many
// years.
const cycle = 400

// starts enumerates, in order, the wall-clock starts of a rule that begins at
// begin: all from the time given on, and perhaps some before. rrule-go searches
// for a next occurrence up to the year 9999, which takes long for a rule that
// has none: it is asked about the same days at the end of that time instead.
func (r rule) starts(begin, from time.Time) (func() (time.Time, bool), error) {
	option, begin := r.skip(begin, from)
	years := (rrule.MAXYEAR - begin.Year()) / cycle * cycle
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
