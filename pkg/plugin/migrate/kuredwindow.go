package migrate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clock is a time of day.
type clock struct{ hour, minute, second int }

func (c clock) seconds() int { return (c.hour*60+c.minute)*60 + c.second }

func (c clock) String() string {
	if c.second == 0 {
		return fmt.Sprintf("%02d:%02d", c.hour, c.minute)
	}
	return fmt.Sprintf("%02d:%02d:%02d", c.hour, c.minute, c.second)
}

// on returns that time on the day of t in the zone.
func (c clock) on(t time.Time, in *time.Location) time.Time {
	year, month, day := t.In(in).Date()
	return time.Date(year, month, day, c.hour, c.minute, c.second, 0, in)
}

// KuredWindow is kured's reboot window, with its rules: the day is that of the clock when
// kured checks, both before and after midnight. A start later than the end means over
// midnight. The second of the end is still in the window.
type KuredWindow struct {
	days       [7]bool // from Sunday
	start, end clock
	zone       *time.Location
}

// Contains reports whether kured may begin with a node at t.
func (w KuredWindow) Contains(t time.Time) bool {
	if !w.days[t.In(w.zone).Weekday()] {
		return false
	}
	start, end := w.start.on(t, w.zone), w.end.on(t, w.zone).Add(moment)
	if w.overMidnight() {
		return !t.Before(start) || t.Before(end)
	}
	return !t.Before(start) && t.Before(end)
}

func (w KuredWindow) overMidnight() bool { return w.start.seconds() > w.end.seconds() }

// always reports whether kured has no window: it may reboot at any time.
func (w KuredWindow) always() bool {
	return w.daily() && w.start == clock{} && w.end.seconds() == 24*60*60-1
}

func (w KuredWindow) daily() bool { return w.days == [7]bool{true, true, true, true, true, true, true} }

// never reports whether it is open for no more than the second of its end.
func (w KuredWindow) never() bool { return w.days == [7]bool{} || w.start == w.end }

// Openings returns when kured may begin with a node.
func (w KuredWindow) Openings(from, until time.Time) []Span {
	var spans []Span
	for day := midnight(from.In(w.zone)); day.Before(until); {
		next := midnight(day.Add(36 * time.Hour)) // a day has 23 to 25 hours, or 48 at the date line
		if w.days[day.Weekday()] {
			start, end := w.start.on(day, w.zone), w.end.on(day, w.zone).Add(moment)
			if w.overMidnight() {
				spans = append(spans, cut(Span{day, end}, day, next), cut(Span{start, next}, day, next))
			} else {
				spans = append(spans, cut(Span{start, end}, day, next))
			}
		}
		day = next
	}
	return join(spans, from, until)
}

// cut returns the part of s from the start of a day to the next.
func cut(s Span, day, next time.Time) Span {
	if s.Start.Before(day) {
		s.Start = day
	}
	if s.End.After(next) {
		s.End = next
	}
	return s
}

// midnight returns the first instant of the day of t. Where the clock skips midnight, that
// is when it does; where it shows it twice, the first.
func midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	start := time.Date(year, month, day, 0, 0, 0, 0, t.Location())
	if start.Day() != day {
		_, start = start.ZoneBounds()
	} else if first := start.Add(-time.Hour); first.Day() == day {
		start = first
	}
	return start
}

// kuredDays are the names of days that kured accepts, beside the numbers 0 (Sunday) to 6.
var kuredDays = [7][]string{
	{"su", "sun", "sunday"}, {"mo", "mon", "monday"}, {"tu", "tue", "tuesday"}, {"we", "wed", "wednesday"},
	{"th", "thu", "thursday"}, {"fr", "fri", "friday"}, {"sa", "sat", "saturday"},
}

// parseKuredDays reads --reboot-days. None is no day at all.
func parseKuredDays(names []string) (days [7]bool, err error) {
	for _, name := range names {
		if name == "" {
			continue
		}
		day := slices.IndexFunc(kuredDays[:], func(known []string) bool { return slices.Contains(known, strings.ToLower(name)) })
		if n, err := strconv.Atoi(name); err == nil {
			day = n
		}
		if day < 0 || day > 6 {
			return days, fmt.Errorf("%q is no day: kured accepts su, sun, sunday … sa, sat, saturday, and 0 (Sunday) to 6", name)
		}
		days[day] = true
	}
	return days, nil
}

// kuredTimes are the forms of a time that kured accepts, in this order.
var kuredTimes = []string{"15:04", "15:04:05", "03:04pm", "15", "03pm", "3pm"}

// parseKuredTime reads --start-time or --end-time.
func parseKuredTime(value string) (clock, error) {
	for _, form := range kuredTimes {
		if t, err := time.Parse(form, value); err == nil {
			return clock{t.Hour(), t.Minute(), t.Second()}, nil
		}
	}
	return clock{}, fmt.Errorf("%q is no time that kured accepts: 17:00, 17:00:00, 05:00pm, 17, 05pm or 5pm (5:00pm with one digit is refused)", value)
}

// length returns how long the window is on a day without a change of the clock.
func (w KuredWindow) length() time.Duration {
	seconds := w.end.seconds() - w.start.seconds()
	if seconds < 0 {
		seconds += 24 * 60 * 60
	}
	return time.Duration(seconds) * time.Second
}
