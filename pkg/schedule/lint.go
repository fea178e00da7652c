package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// NodeTime is the time that one node may need at the default limits: fifteen minutes to
// drain, and five to reboot, start and settle.
const NodeTime = 20 * time.Minute

// Finding is a part of a schedule that is valid but probably a mistake.
type Finding struct {
	// Schedule is the name of the schedule.
	Schedule string
	// Field is the path below spec, such as maintenanceWindows[0].recurrence.
	Field string
	// Message is one sentence on what happens and how to write what was probably meant.
	Message string
}

// Lint returns what is valid in a schedule but probably a mistake, from now on: a monthly
// rule that skips months, a window that never opens, is over, or that a change of the clock
// skips, a startTime that its own rule misses, a window that occurs again before it closes,
// one too short for a single node, and exclusions that leave too little open. It returns
// nothing for a schedule that Check rejects.
func Lint(s v1alpha1.MaintenanceSchedule, now time.Time) []Finding {
	c, err := compile(&s, now)
	if err != nil {
		return nil
	}
	l := &linter{schedule: s.Name, compiled: c, now: now}
	for i, w := range s.Spec.MaintenanceWindows {
		l.window(fmt.Sprintf("maintenanceWindows[%d]", i), w.Period, c.windows[i])
	}
	for i, x := range s.Spec.MaintenanceExclusions {
		l.monthEnds(fmt.Sprintf("maintenanceExclusions[%d]", i), x.Period, c.exclusions[i])
	}
	l.openTime()
	return l.findings
}

// linter collects findings about one schedule.
type linter struct {
	compiled
	schedule string
	now      time.Time
	findings []Finding
}

func (l *linter) find(field, message string, args ...any) {
	l.findings = append(l.findings, Finding{l.schedule, field, fmt.Sprintf(message, args...)})
}

func (l *linter) window(field string, p v1alpha1.Period, e entry) {
	if neverOpens(p, e.zone) {
		l.find(field, "window %s never opens: no day within nine years fits %s", e.name, p.Recurrence)
		return
	}
	l.startsLater(field, p, e)
	l.overlaps(field, p, e)
	l.monthEnds(field, p, e)
	l.clockChanges(field, p, e)
	if l.over(field, p, e) {
		return
	}
	l.tooShort(field, p, e)
	l.alwaysExcluded(field, e)
}

// Exclusions should leave roomTime open within any roomWithin. GKE requires the same of
// its exclusions: https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
const (
	roomTime   = 48 * time.Hour
	roomWithin = 32 * 24 * time.Hour
)

// lintAhead is how far ahead exclusions are checked.
const lintAhead = 366*24*time.Hour + roomWithin

// tooShort finds windows too short for a node. A window that another one continues counts
// as long as both together.
func (l *linter) tooShort(field string, p v1alpha1.Period, e entry) {
	written := newOccurrence(span{p.StartTime.Time, p.EndTime.Time}, e.zone, false)
	lasts := written.written.length()
	if p.Recurrence != "" {
		lasts = min(lasts, written.wallLasts)
	}
	if lasts <= 0 || lasts >= NodeTime || l.longEnough(e) {
		return
	}
	l.find(field+".endTime", "window %s lasts %s: too short for a single node, which may need %s", e.name, lasts, NodeTime)
}

// longEnough reports whether an opening that includes the entry is long enough.
func (l *linter) longEnough(e entry) bool {
	own := e.series.until(l.now.Add(lintAhead))
	return slices.ContainsFunc(within(l.windows, l.now, l.now.Add(lintAhead)), func(whole span) bool {
		return whole.length() >= NodeTime && slices.ContainsFunc(own, whole.overlaps)
	})
}

// alwaysExcluded finds windows that are never open because exclusions cover them.
func (l *linter) alwaysExcluded(field string, e entry) {
	seen := search([]entry{e}, l.patchExclusions(), l.now, func(o timeline) bool { return len(o.effective) > 0 })
	if len(seen.windows) > 0 && len(seen.effective) == 0 {
		l.find(field, "window %s is never open: exclusions cover all of it", e.name)
	}
}

// patchExclusions returns the exclusions that hold back patches, and so security fixes.
// An exclusion that holds back only minor versions may last forever.
func (l *linter) patchExclusions() []entry {
	_, exclusions := entries([]compiled{l.compiled}, v1alpha1.TypePatch)
	return exclusions
}

// openTime finds a time in which exclusions leave too little of the windows open, or of all
// time if the schedule is a freeze.
func (l *linter) openTime() {
	exclusions := l.patchExclusions()
	if len(exclusions) == 0 {
		return
	}
	seen := newTimeline(l.windows, exclusions, l.now, l.now.Add(lintAhead))
	if len(l.windows) == 0 {
		seen.windows = []span{{seen.now, seen.edge}}
		seen.effective = subtract(seen.windows, seen.exclusions)
	}
	for _, x := range seen.exclusions {
		in := span{x.start, x.start.Add(roomWithin)}
		given, left := overlap(seen.windows, in), overlap(seen.effective, in)
		if in.end.After(seen.edge) || left >= roomTime || given < roomTime && left > 0 || given == 0 {
			continue
		}
		l.find("maintenanceExclusions", "exclusions leave %s open of the 32 days from %s; leave at least 48h, so that security fixes can be installed",
			left, x.start.In(l.zone).Format("2006-01-02"))
		return
	}
}

// overlap returns how much of in the spans, which are a union, cover.
func overlap(spans []span, in span) time.Duration {
	var sum time.Duration
	for _, s := range spans {
		if s.overlaps(in) {
			sum += span{later(s.start, in.start), earlier(s.end, in.end)}.length()
		}
	}
	return sum
}

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
		l.find(field+".endTime",
			"window %s lasts %s and opens again %s after it opened, so it does not close in between: endTime is the end of the first occurrence only; UNTIL in the rule ends the recurrence",
			e.name, duration.HumanDuration(one.length()), duration.HumanDuration(again.start.Sub(one.start)))
	}
}

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
		l.find(field+".endTime", "window %s opens only once: in the local time of %s its end is not after its start (daylight saving time), so recurrences would have no length",
			e.name, e.zone)
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

// The API bounds each schedule, and a cluster may have any number of them. Every plan evaluates
// all, so their sum is bounded as well: maxCost windows and exclusions, of which some count
// heavyCost times, because their rules have to be counted through.
const (
	maxCost   = 1024
	heavyCost = 16
	// longPeriod is the length from which on an occurrence covers so many of the next ones that
	// all of them have to be made.
	longPeriod = 31 * 24 * time.Hour
)

// Excess returns the schedules that are over the limit of the cluster, by their names, and
// what to do about each: the youngest ones. They are not evaluated, and as an invalid schedule
// they close the windows of all.
func Excess(schedules []v1alpha1.MaintenanceSchedule) map[string]error {
	var over map[string]error
	total := 0
	for _, s := range schedules {
		total += cost(&s)
	}
	if total <= maxCost {
		return nil
	}
	byAge := make([]*v1alpha1.MaintenanceSchedule, len(schedules))
	for i := range schedules {
		byAge[i] = &schedules[i]
	}
	slices.SortFunc(byAge, older)
	sum := 0
	for _, s := range byAge {
		if sum += cost(s); sum <= maxCost {
			continue
		}
		if over == nil {
			over = map[string]error{}
		}
		over[s.Name] = fmt.Errorf("schedule %s: all schedules of the cluster have windows and exclusions of %d together, and at most %d are evaluated (one with COUNT, BYSETPOS or recurring occurrences of more than a month counts as %d); delete schedules, or join their windows",
			s.Name, total, maxCost, heavyCost)
	}
	return over
}

// firstExcess returns the oldest schedule that is over the limit.
func firstExcess(schedules []v1alpha1.MaintenanceSchedule, over map[string]error) string {
	var first *v1alpha1.MaintenanceSchedule
	for i := range schedules {
		if s := &schedules[i]; over[s.Name] != nil && (first == nil || older(s, first) < 0) {
			first = s
		}
	}
	return first.Name
}

// older compares schedules by age, and by name where that is the same.
func older(a, b *v1alpha1.MaintenanceSchedule) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// cost returns how many plain windows the schedule counts as.
func cost(s *v1alpha1.MaintenanceSchedule) int {
	total := 1
	for _, w := range s.Spec.MaintenanceWindows {
		total += periodCost(w.Period)
	}
	for _, x := range s.Spec.MaintenanceExclusions {
		total += periodCost(x.Period)
	}
	return total
}

func periodCost(p v1alpha1.Period) int {
	rule := strings.ToUpper(p.Recurrence)
	if rule != "" && (strings.Contains(rule, "COUNT=") || strings.Contains(rule, "BYSETPOS=") || p.EndTime.Sub(p.StartTime.Time) > longPeriod) {
		return heavyCost
	}
	return 1
}
