package schedule

import (
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// over finds a window that never opens again, and reports whether it is one.
func (l *linter) over(field string, p v1alpha1.Period, e entry) bool {
	if len(e.series.until(l.now.Add(Horizon))) > 0 {
		return false
	}
	all, err := newSeries(p, e.zone, false, p.StartTime.Time)
	if err != nil {
		return false
	}
	past := all.until(l.now)
	if len(past) == 0 {
		return false
	}
	l.find(field, "window %s is over: it closed for the last time at %s", e.name, e.clock(past[len(past)-1].end))
	return true
}

// startsLater finds a startTime on a day that the rule does not have.
func (l *linter) startsLater(field string, p v1alpha1.Period, e entry) {
	all, err := newSeries(p, e.zone, false, p.StartTime.Time)
	if err != nil {
		return
	}
	first := all.until(p.StartTime.Add(Horizon))[0].start
	if first.After(p.StartTime.Time) {
		const day = "Monday 2006-01-02"
		l.find(field+".startTime", "%s is not among the days of %s: window %s opens first on %s", p.StartTime.In(e.zone).Format(day), p.Recurrence, e.name, first.In(e.zone).Format(day))
	}
}

// overlaps finds a window that occurs again before it has closed. One that closes at that
// moment is open all the time on purpose.
func (l *linter) overlaps(field string, p v1alpha1.Period, e entry) {
	r, err := parseRule(p.Recurrence)
	if p.Recurrence == "" || err != nil {
		return
	}
	next, err := r.occurrences(newOccurrence(span{p.StartTime.Time, p.EndTime.Time}, e.zone, false), l.now)
	if err != nil {
		return
	}
	one, _ := next()
	again, more := next()
	if more && again.start.Before(one.end.Add(-time.Minute)) {
		l.find(field+".endTime", "window %s lasts %s and opens again %s after it opened, so it does not close in between: endTime is the end of the first occurrence only; UNTIL in the rule ends the recurrence",
			e.name, duration.HumanDuration(one.length()), duration.HumanDuration(again.start.Sub(one.start)))
	}
}
