package migrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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

// schedule sets the window and the schedule. It sets neither if a flag cannot be read.
func (k *kured) schedule() {
	if k.unreadable {
		k.note("the window is not known, because the flags are not: there is no MaintenanceSchedule, so nothing would begin")
		return
	}
	w := KuredWindow{}
	var errs [4]error
	w.days, errs[0] = parseKuredDays(k.settings["reboot-days"].values)
	w.start, errs[1] = parseKuredTime(k.settings["start-time"].value())
	w.end, errs[2] = parseKuredTime(k.settings["end-time"].value())
	w.zone, errs[3] = k.location()
	for i, name := range []string{"reboot-days", "start-time", "end-time", "time-zone"} {
		s := k.settings[name]
		if errs[i] != nil && s.unread == "" {
			s.problem = errs[i].Error()
			k.settings[name] = s
		}
		if s.unread != "" || s.problem != "" {
			k.note("the window is not known, because the value of --%s is not: there is no MaintenanceSchedule, so nothing would begin", name)
			return
		}
	}
	k.Window = w
	if w.never() {
		k.note("kured's window never opens: it has no day, or begins when it ends. So there is no MaintenanceSchedule, and nothing would begin")
		return
	}
	k.Schedule = newSchedule(k.ScheduleName, w.zone, k.windows(w)...)
	k.surprises(w)
}

// windows returns the windows of the schedule.
func (k *kured) windows(w KuredWindow) []v1alpha1.MaintenanceWindow {
	window := func(name string, start, end clock) v1alpha1.MaintenanceWindow {
		return newWindow(name, w.days, start, end, w.zone, k.Now)
	}
	if !w.overMidnight() || w.daily() || k.Whole {
		return []v1alpha1.MaintenanceWindow{window("kured", w.start, w.end)}
	}
	windows := []v1alpha1.MaintenanceWindow{window("kured-evening", w.start, midnightAfter)}
	if w.end != (clock{}) {
		windows = append(windows, window("kured-morning", clock{}, w.end))
	}
	return windows
}

// surprises notes what people often do not expect of kured's window.
func (k *kured) surprises(w KuredWindow) {
	if w.overMidnight() && !w.daily() && w.end != (clock{}) {
		does := "The schedule does the same; --windows=whole puts each window on the day on which it begins."
		if k.Whole {
			does = "The schedule has each window on the day on which it begins."
		}
		k.note("kured takes the day from the clock, before and after midnight: on each day of --reboot-days it may reboot until %s and from %s on, and not in the morning after the last of these days. %s", w.end, w.start, does)
	}
	if length := w.length(); !w.always() && k.settings["period"].duration() > length {
		k.note("each of kured's pods looks at the clock once per --period=%s: a window of %s may pass unnoticed. Agents notice its start at once.", k.settings["period"].value(), length)
	}
	if !w.always() {
		k.note("kured looks at its window only before it takes its lock: a drain and its reboot may run on after the window. An agent aborts a drain when the window closes, and does not begin when too little time is left.")
	}
}

func (k *kured) window(row *Row, _ setting) {
	row.Matters = true
	if k.Schedule == nil {
		row.Meaning, row.Note = None, "see below"
		return
	}
	row.Becomes = "a window of MaintenanceSchedule " + k.ScheduleName
	if w, known := k.Window.(KuredWindow); known && k.Whole && w.overMidnight() && !w.daily() {
		row.Meaning, row.Note = Nearest, "see below"
	}
}

func (k *kured) timeZone(row *Row, s setting) {
	row.Matters = true
	if k.Schedule == nil {
		row.Meaning, row.Note = None, "see below"
		return
	}
	row.Becomes = "timeZone: " + k.Schedule.Spec.TimeZone
	if s.value() == "Local" {
		row.Note = "Local is the zone of kured's container: its variable TZ, or else UTC"
	}
}

func (k *kured) concurrency(row *Row, s setting) {
	row.Matters = true
	n := max(s.number(), 1)
	limit := intstr.FromInt(n)
	k.Policy.Strategy.MaxUnavailable = &limit
	row.Becomes = fmt.Sprintf("strategy.maxUnavailable: %d", n)
	if n > 1 {
		row.Note = "control-plane nodes go one at a time all the same"
	}
}

// most is the API's limit for a time, a day.
const most = 24 * 60 * 60

// seconds returns a duration in whole seconds, rounded up, and a note if it is longer than the
// API allows.
func seconds(d time.Duration) (n int32, note string) {
	if d > most*time.Second {
		return most, "a day is the most"
	}
	return int32(math.Ceil(d.Seconds())), ""
}

func (k *kured) lockReleaseDelay(row *Row, s setting) {
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Matters = NotNeeded, true
		row.Note = fmt.Sprintf("a node must stay Ready for %d seconds before it is uncordoned (strategy.settleSeconds), and %d more before the next one begins (minReadySeconds)",
			*v1alpha1.DefaultStrategy().SettleSeconds, *v1alpha1.DefaultStrategy().MinReadySeconds)
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.MinReadySeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.minReadySeconds: %d", n), cmp.Or(note, "the node must be Ready all that time")
}

func (k *kured) drainTimeout(row *Row, s setting) {
	row.Matters = true
	d := s.duration()
	if d <= 0 {
		row.Meaning, row.Becomes = Nearest, "strategy.drain.timeoutSeconds: 900 (the default)"
		row.Note = "kured waits without limit, and every other node with it. An agent uncordons its node, lets others go and tries again"
		return
	}
	n, note := seconds(d)
	k.Policy.Strategy.Drain.TimeoutSeconds = &n
	row.Becomes, row.Note = fmt.Sprintf("strategy.drain.timeoutSeconds: %d", n), note
}

func (k *kured) drainGracePeriod(row *Row, s setting) {
	n := int32(min(max(s.number(), -1), math.MaxInt32))
	row.Becomes = fmt.Sprintf("strategy.drain.gracePeriodSeconds: %d", n)
	if n < 0 {
		row.Becomes += " (the default)"
		return
	}
	k.Policy.Strategy.Drain.GracePeriodSeconds = &n
}

func (k *kured) forceReboot(row *Row, s setting) {
	row.Matters = true
	switch {
	case !s.isTrue():
		row.Becomes = "strategy.drain.onTimeout: Abort (the default)"
	case len(k.settings["blocking-pod-selector"].values) > 0:
		row.Meaning, row.Note = None, "onTimeout: Delete would delete also the pods of --blocking-pod-selector, for which kured waits"
	default:
		k.Policy.Strategy.Drain.OnTimeout = v1alpha1.OnTimeoutDelete
		row.Meaning, row.Becomes = Nearest, "strategy.drain.onTimeout: Delete"
		row.Note = "a node with pods left does not reboot: those that could not be evicted are deleted"
	}
}

// builtIn adds the rows of what kured does without a flag.
func (k *kured) builtIn() {
	k.Policy.Strategy.Drain.UnmanagedPods = v1alpha1.PodsEvict
	k.Rows = append(k.Rows, Row{
		Setting: "kured's drain", Value: "evicts pods without a controller", Matters: true,
		Becomes: "strategy.drain.unmanagedPods: Evict", Note: "leave it out if such pods are to block the drain",
	})
}
