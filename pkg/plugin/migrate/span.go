package migrate

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Span is a time from Start (in) to End (out).
type Span struct{ Start, End time.Time }

// Window is when another program may reboot a node.
type Window interface {
	// Contains reports whether the program may begin with a node at t.
	Contains(t time.Time) bool
	// Openings returns when it may, between from and until, in order.
	Openings(from, until time.Time) []Span
}

// moment is the precision of the other programs: a window that ends at 17:00 ends within
// that second.
const moment = time.Second

// join merges spans that overlap or touch, cut to from and until.
func join(spans []Span, from, until time.Time) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	var joined []Span
	for _, s := range spans {
		if s.Start.Before(from) {
			s.Start = from
		}
		if s.End.After(until) {
			s.End = until
		}
		last := len(joined) - 1
		switch {
		case !s.Start.Before(s.End):
		case last >= 0 && !s.Start.After(joined[last].End):
			if s.End.After(joined[last].End) {
				joined[last].End = s.End
			}
		default:
			joined = append(joined, s)
		}
	}
	return joined
}

// Pair is what two programs do around the same time.
type Pair struct{ Theirs, Ours []Span }

// Differs reports whether one is open for more than a moment when the other is not.
func (p Pair) Differs() bool {
	return !slices.EqualFunc(p.Theirs, p.Ours, func(a, b Span) bool {
		return a.Start.Sub(b.Start).Abs() <= moment && a.End.Sub(b.End).Abs() <= moment
	})
}

// around returns the time from the first start to the last end.
func (p Pair) around() Span {
	all := slices.Concat(p.Theirs, p.Ours)
	return Span{
		slices.MinFunc(all, func(a, b Span) int { return a.Start.Compare(b.Start) }).Start,
		slices.MaxFunc(all, func(a, b Span) int { return a.End.Compare(b.End) }).End,
	}
}

// Compare puts the openings of both side by side: those that overlap or touch are one pair.
// Openings of a moment are left out.
func Compare(theirs, ours []Span) []Pair {
	short := func(s Span) bool { return s.End.Sub(s.Start) <= moment }
	theirs = slices.DeleteFunc(slices.Clone(theirs), short)
	ours = slices.DeleteFunc(slices.Clone(ours), short)
	all := slices.Concat(theirs, ours)
	if len(all) == 0 {
		return nil
	}
	whole := Pair{theirs, ours}.around()
	var pairs []Pair
	for _, around := range join(all, whole.Start, whole.End) {
		within := func(spans []Span) (found []Span) {
			for _, s := range spans {
				if s.Start.Before(around.End) && around.Start.Before(s.End) {
					found = append(found, s)
				}
			}
			return found
		}
		pairs = append(pairs, Pair{within(theirs), within(ours)})
	}
	return pairs
}

// dayCodes are RFC 5545's, from Sunday.
var dayCodes = [7]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// recurrence returns the rule for these days of the week.
func recurrence(days [7]bool) string {
	var codes []string
	for _, day := range []int{1, 2, 3, 4, 5, 6, 0} {
		if days[day] {
			codes = append(codes, dayCodes[day])
		}
	}
	if len(codes) == 7 {
		return "FREQ=DAILY"
	}
	return "FREQ=WEEKLY;BYDAY=" + strings.Join(codes, ",")
}

// midnightAfter is the end of a day.
var midnightAfter = clock{hour: 24}

// newWindow returns a window that begins on these days at start, and ends at end: on the
// next day if that is not later. Its first day is the first from now on whose clock shows
// both times.
func newWindow(name string, days [7]bool, start, end clock, in *time.Location, now time.Time) v1alpha1.MaintenanceWindow {
	if end.second == 59 { // the second of the end is in the other program's window
		end = clock{end.hour, end.minute + 1, 0}
	}
	year, month, day := now.In(in).Date()
	for d := 0; ; d++ {
		begin := time.Date(year, month, day+d, start.hour, start.minute, start.second, 0, in)
		finish := time.Date(year, month, day+d, end.hour, end.minute, end.second, 0, in)
		if end.seconds() <= start.seconds() {
			finish = time.Date(year, month, day+d+1, end.hour, end.minute, end.second, 0, in)
		}
		if days[begin.Weekday()] && shows(begin, start) && shows(finish, end) {
			return v1alpha1.MaintenanceWindow{Period: v1alpha1.Period{
				Name: name, StartTime: metav1.NewTime(begin), EndTime: metav1.NewTime(finish), Recurrence: recurrence(days),
			}}
		}
	}
}

// shows reports whether the clock shows c at t: not, if it skips that time.
func shows(t time.Time, c clock) bool {
	return (t.Hour()*60+t.Minute())*60+t.Second() == c.seconds()%(24*60*60)
}

// newSchedule returns a schedule with these windows.
func newSchedule(name string, in *time.Location, windows ...v1alpha1.MaintenanceWindow) *v1alpha1.MaintenanceSchedule {
	return &v1alpha1.MaintenanceSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MaintenanceSchedule"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.MaintenanceScheduleSpec{TimeZone: in.String(), MaintenanceWindows: windows},
	}
}
