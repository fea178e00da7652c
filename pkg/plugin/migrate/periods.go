package migrate

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

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
