package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FLUOWindow is FLUO's reboot window: it begins on a day of the week, or every day, at a time of
// the operator's own clock, and has a length in hours that pass.
type FLUOWindow struct {
	days   [7]bool // from Sunday
	start  clock
	length time.Duration
	zone   *time.Location
}

// Contains reports whether FLUO may choose a node at t.
func (w FLUOWindow) Contains(t time.Time) bool {
	spans := w.Openings(t, t.Add(time.Nanosecond))
	return len(spans) > 0 && !t.Before(spans[0].Start)
}

// Openings returns when FLUO may choose a node.
func (w FLUOWindow) Openings(from, until time.Time) []Span {
	year, month, day := from.In(w.zone).Date()
	var spans []Span
	for d := -8; ; d++ { // a window may be almost a week long
		start := time.Date(year, month, day+d, w.start.hour, w.start.minute, 0, 0, w.zone)
		if !start.Before(until) {
			break
		}
		if w.days[time.Date(year, month, day+d, 12, 0, 0, 0, w.zone).Weekday()] {
			spans = append(spans, Span{start, start.Add(w.length)})
		}
	}
	return join(spans, from, until)
}

// parseFLUOWindow reads --reboot-window-start and --reboot-window-length.
func parseFLUOWindow(start, length string, in *time.Location) (w FLUOWindow, err error) {
	w.zone = in
	fields := strings.Fields(start)
	weekly := len(fields) == 2
	if weekly {
		day := slices.IndexFunc(kuredDays[:], func(known []string) bool { return known[1] == strings.ToLower(fields[0]) })
		if day < 0 {
			return w, fmt.Errorf("%q is no day: FLUO accepts Sun, Mon … Sat", fields[0])
		}
		w.days[day] = true
		fields = fields[1:]
	} else {
		w.days = [7]bool{true, true, true, true, true, true, true}
	}
	if len(fields) == 0 {
		return w, fmt.Errorf("%q has no time of day", start)
	}
	hour, minute, _ := strings.Cut(fields[0], ":")
	var errs [2]error
	w.start.hour, errs[0] = strconv.Atoi(hour)
	w.start.minute, errs[1] = strconv.Atoi(minute)
	if errs[0] != nil || errs[1] != nil || w.start.hour < 0 || w.start.hour > 23 || w.start.minute < 0 || w.start.minute > 59 {
		return w, fmt.Errorf("%q is no time of day that FLUO accepts, such as 14:00", fields[0])
	}
	if w.length, err = time.ParseDuration(length); err != nil {
		return w, fmt.Errorf("%q is no duration, such as 1h30m", length)
	}
	if most := 7 * 24 * time.Hour; w.length < 0 || w.length >= most || !weekly && w.length >= 24*time.Hour {
		return w, fmt.Errorf("%s is longer than the time between two windows, or negative", length)
	}
	return w, nil
}
