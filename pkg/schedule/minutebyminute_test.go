package schedule_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// A slow and simple reading of schedules, for comparison: it reads the clock at every minute and
// the calendar on every day, and shares no code with the package. It supports whole minutes only.

// walker has the wall-clock time of a zone at every minute of a range.
type walker struct {
	from  int64   // the first minute since 1970
	shown []int64 // what the clock shows, as if it were UTC
}

const day = 24 * 60

func walk(zone string, from, until time.Time) *walker {
	in, err := schedule.Zone(zone)
	if err != nil {
		panic(err)
	}
	w := &walker{from: from.Unix() / 60}
	for m := w.from; m < until.Unix()/60; m++ {
		w.shown = append(w.shown, shows(m, in))
	}
	return w
}

func shows(minute int64, in *time.Location) int64 {
	_, offset := time.Unix(minute*60, 0).In(in).Zone()
	return minute + int64(offset/60)
}

// near is where to look for wall: no clock changes by two days.
func (w *walker) near(wall int64) (low, high int) {
	i := int(wall - w.shown[0])
	return max(1, i-2*day), min(len(w.shown)-1, i+2*day)
}

// first and last are the minutes at which the clock shows wall. If it jumps
// past wall, first is the jump, and last as far after wall as the clock jumps.
func (w *walker) first(wall int64) (int64, bool) {
	low, high := w.near(wall)
	for i := low; i <= high; i++ {
		if w.shown[i] == wall {
			return w.from + int64(i), true
		}
		if w.shown[i-1] < wall && wall < w.shown[i] {
			return w.from + int64(i), false
		}
	}
	return 1 << 60, false
}

func (w *walker) last(wall int64) int64 {
	low, high := w.near(wall)
	for i := high; i >= low; i-- {
		if w.shown[i] == wall {
			return w.from + int64(i)
		}
		if w.shown[i-1] < wall && wall < w.shown[i] {
			return w.from + int64(i) - 1 + wall - w.shown[i-1]
		}
	}
	return 1 << 60
}

// minutes is the first and the last but one minute of each occurrence that
// starts well within what was walked.
func (w *walker) minutes(p v1alpha1.Period, zone string, exclusion bool) [][2]int64 {
	in, _ := schedule.Zone(zone)
	writtenStart, writtenEnd := p.StartTime.Unix()/60, p.EndTime.Unix()/60
	if p.Recurrence == "" {
		return [][2]int64{{writtenStart, writtenEnd}}
	}
	begin, finish := shows(writtenStart, in), shows(writtenEnd, in)
	until := int64(1 << 60)
	if _, text, ok := strings.Cut(p.Recurrence, "UNTIL="); ok {
		t, err := time.Parse("20060102T150405Z", text[:16])
		if err != nil {
			panic(err)
		}
		until = t.Unix() / 60
	}
	var list [][2]int64
	for _, wall := range days(p.Recurrence, begin, w.shown[len(w.shown)-1]) {
		if wall == begin {
			if writtenStart <= until {
				list = append(list, [2]int64{writtenStart, writtenEnd})
			}
			continue
		}
		if wall < w.shown[0]+2*day {
			continue
		}
		start, shown := w.first(wall)
		if !shown {
			start = w.last(wall)
		}
		if start > until || start >= 1<<60 {
			continue
		}
		end, _ := w.first(wall + finish - begin)
		end = min(end, start+writtenEnd-writtenStart)
		if exclusion {
			end = max(w.last(wall+finish-begin), start+writtenEnd-writtenStart)
		}
		list = append(list, [2]int64{start, end})
	}
	return list
}

// days is the wall-clock starts of a rule from begin to end: it looks at every
// day of every month or year that the rule's interval does not leave out.
func days(text string, begin, end int64) []int64 {
	rule := map[string]string{"INTERVAL": "1", "COUNT": "1000000", "WKST": "MO"}
	for _, part := range strings.Split(text, ";") {
		key, value, _ := strings.Cut(part, "=")
		rule[key] = value
	}
	interval, _ := strconv.Atoi(rule["INTERVAL"])
	count, _ := strconv.Atoi(rule["COUNT"])
	at := func(wall int64) time.Time { return time.Unix(wall*60, 0).UTC() }
	first := at(begin)
	number := func(t time.Time) int { // of the day's month, year …, from begin's on
		switch rule["FREQ"] {
		case "DAILY":
			return int((t.Unix()/60 - begin) / day)
		case "WEEKLY":
			begins := func(t time.Time) int64 {
				for weekday(t) != rule["WKST"] {
					t = t.AddDate(0, 0, -1)
				}
				return t.Unix() / 60 / day
			}
			return int(begins(t)-begins(first)) / 7
		case "MONTHLY":
			return 12*(t.Year()-first.Year()) + int(t.Month()-first.Month())
		}
		return t.Year() - first.Year()
	}
	var list, set []int64
	flush := func() {
		for i, wall := range set {
			if positions := rule["BYSETPOS"]; positions != "" && !has(positions, i+1) && !has(positions, i-len(set)) {
				continue
			}
			if wall >= begin && len(list) < count {
				list = append(list, wall)
			}
		}
		set = nil
	}
	start := begin // the first day of begin's period, with the time of begin
	for start-begin > -400*day && at(start-day).Year() == first.Year() {
		start -= day
	}
	for wall := start; ; wall += day {
		t := at(wall)
		if wall > start && number(t) != number(at(wall-day)) {
			flush()
			if wall > end {
				return list
			}
		}
		if n := number(t); wall >= begin-366*day && n >= 0 && n%interval == 0 && fits(rule, t, first) && (wall >= begin || rule["FREQ"] != "DAILY") {
			set = append(set, wall)
		}
	}
}

func weekday(t time.Time) string { return strings.ToUpper(t.Weekday().String()[:2]) }

func has(list string, n int) bool {
	return slices.Contains(strings.Split(list, ","), strconv.Itoa(n))
}

// fits reports whether the rule matches the day.
func fits(rule map[string]string, t, first time.Time) bool {
	month, monthday, byday := rule["BYMONTH"], rule["BYMONTHDAY"], rule["BYDAY"]
	if month != "" && !has(month, int(t.Month())) {
		return false
	}
	if monthday == "" && byday == "" {
		switch rule["FREQ"] {
		case "WEEKLY":
			return t.Weekday() == first.Weekday()
		case "YEARLY":
			return t.Day() == first.Day() && (month != "" || t.Month() == first.Month())
		case "MONTHLY":
			return t.Day() == first.Day()
		}
		return true
	}
	last := time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if monthday != "" && !has(monthday, t.Day()) && !has(monthday, t.Day()-last-1) {
		return false
	}
	if byday == "" {
		return true
	}
	of, length := t.Day(), last
	if rule["FREQ"] == "YEARLY" && month == "" {
		of, length = t.YearDay(), time.Date(t.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	}
	for _, item := range strings.Split(byday, ",") {
		if item == weekday(t) || item == strconv.Itoa((of-1)/7+1)+weekday(t) || item == strconv.Itoa(-(length-of)/7-1)+weekday(t) {
			return true
		}
	}
	return false
}

// slowOpen reports for each minute between from and until whether a window is open.
func slowOpen(s v1alpha1.MaintenanceSchedule, from, until time.Time) []bool {
	w := walk(s.Spec.TimeZone, from.AddDate(0, 0, -12), until.AddDate(0, 0, 12))
	open := make([]bool, (until.Unix()-from.Unix())/60)
	paint := func(p v1alpha1.Period, exclusion bool) {
		for _, o := range w.minutes(p, s.Spec.TimeZone, exclusion) {
			for m := max(o[0], from.Unix()/60); m < min(o[1], until.Unix()/60); m++ {
				open[m-from.Unix()/60] = !exclusion
			}
		}
	}
	for _, p := range s.Spec.MaintenanceWindows {
		paint(p.Period, false)
	}
	for _, x := range s.Spec.MaintenanceExclusions {
		paint(x.Period, true)
	}
	return open
}
