package schedule

import (
	"slices"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// neverOpens reports whether no occurrence of a window has any length.
func neverOpens(p v1alpha1.Period, in *time.Location) bool {
	all, err := newSeries(p, in, false, p.StartTime.Time)
	return err == nil && len(all.until(p.StartTime.Add(Horizon))) == 0
}

// monthEnds finds monthly rules on a day that some of their months do not have. With BYDAY
// or BYSETPOS the rule chooses among several days, so it is intended.
func (l *linter) monthEnds(field string, p v1alpha1.Period, e entry) {
	if p.Recurrence == "" {
		return
	}
	r, err := parseRule(p.Recurrence)
	o := r.option
	if err != nil || o.Freq != rrule.MONTHLY || len(o.Byweekday)+len(o.Bysetpos) > 0 {
		return
	}
	days := o.Bymonthday
	if len(days) == 0 {
		days = []int{wall(p.StartTime.Time, e.zone).Day()}
	}
	day := slices.Max(days)
	for month := time.January; month <= time.December; month++ {
		// Day 0 of the next month is the last of this one; 2027 is no leap year.
		last := time.Date(2027, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if day > last && (len(o.Bymonth) == 0 || slices.Contains(o.Bymonth, int(month))) {
			l.find(field+".recurrence", "%s skips every month without a day %d, such as %s; BYMONTHDAY=-1 is the last day of any month", e.name, day, month)
			return
		}
	}
}

// clockChanges finds windows that have no length on a night when the clock changes.
func (l *linter) clockChanges(field string, p v1alpha1.Period, e entry) {
	if p.Recurrence == "" {
		return
	}
	r, err := parseRule(p.Recurrence)
	if err != nil {
		return
	}
	o := newOccurrence(span{p.StartTime.Time, p.EndTime.Time}, e.zone, false)
	if o.wallLasts <= 0 {
		l.find(field+".endTime", "window %s opens only once: in the local time of %s its end is not after its start (daylight saving time), so recurrences would have no length", e.name, e.zone)
		return
	}
	next, err := r.occurrences(o, l.now)
	if err != nil {
		return
	}
	for one, more := next(); more; one, more = next() {
		if one.start.After(l.now) && one.length() <= 0 {
			l.find(field, "window %s stays closed on the night of %s: the change of the clock in %s skips all of it", e.name, one.start.In(e.zone).Format("2006-01-02"), e.zone)
			return
		}
	}
}
