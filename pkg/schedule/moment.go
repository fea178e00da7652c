package schedule

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Moment evaluates a set of schedules at one instant. It caches its results, so that
// evaluating many nodes costs little more than one. It is not safe for concurrent use.
type Moment struct {
	now       time.Time
	invalid   error
	schedules []compiled
	known     map[string]Verdict
	calendars map[string]*Calendar
}

// NewMoment returns the Moment of the schedules at now.
func NewMoment(schedules []v1alpha1.MaintenanceSchedule, now time.Time) *Moment {
	m := &Moment{now: now, known: map[string]Verdict{}, calendars: map[string]*Calendar{}}
	if over := Excess(schedules); len(over) > 0 {
		m.invalid = over[firstExcess(schedules, over)]
		return m
	}
	for i := range schedules {
		one, err := compile(&schedules[i], now)
		if err != nil {
			m.invalid = err
			return m
		}
		m.schedules = append(m.schedules, one)
	}
	return m
}

// At reports whether upgrades of type t may begin on a node with these labels.
func (m *Moment) At(nodeLabels map[string]string, t v1alpha1.UpgradeType) Verdict {
	return m.verdict(nodeLabels, t, true)
}

// IgnoringWindows is like At, but only exclusions count.
func (m *Moment) IgnoringWindows(nodeLabels map[string]string, t v1alpha1.UpgradeType) Verdict {
	return m.verdict(nodeLabels, t, false)
}

func (m *Moment) verdict(nodeLabels map[string]string, t v1alpha1.UpgradeType, windowsCount bool) Verdict {
	if m.invalid != nil {
		return Verdict{Reason: v1alpha1.ReasonScheduleInvalid, Message: m.invalid.Error()}
	}
	key, matching := m.matching(nodeLabels)
	key = fmt.Sprintf("%s %s %t", key, t, windowsCount)
	verdict, ok := m.known[key]
	if !ok {
		windows, exclusions := entries(matching, t)
		verdict = verdictOf(windows, exclusions, windowsCount, m.now)
		m.known[key] = verdict
	}
	return verdict
}

// matching returns the schedules that apply to the node, and a key for the set.
func (m *Moment) matching(nodeLabels map[string]string) (string, []compiled) {
	var key strings.Builder
	var matching []compiled
	for i, one := range m.schedules {
		if one.selector.Matches(labels.Set(nodeLabels)) {
			fmt.Fprintf(&key, "%d,", i)
			matching = append(matching, one)
		}
	}
	return key.String(), matching
}

func entries(matching []compiled, t v1alpha1.UpgradeType) (windows, exclusions []entry) {
	for _, one := range matching {
		windows = append(windows, one.windows...)
		for _, exclusion := range one.exclusions {
			if exclusion.appliesTo(t) {
				exclusions = append(exclusions, exclusion)
			}
		}
	}
	return windows, exclusions
}

// verdictOf returns the verdict for the entries that apply to the node.
func verdictOf(windows, exclusions []entry, windowsCount bool, now time.Time) Verdict {
	seen := search(nil, exclusions, now, func(o timeline) bool {
		held, ok := o.at(o.exclusions)
		return !ok || o.end(held) != nil
	})
	if held, ok := seen.at(seen.exclusions); ok {
		return excluded(seen.covering(exclusions, now), seen.end(held))
	}
	if !windowsCount {
		return ignoring(exclusions, now)
	}
	if len(windows) == 0 {
		return Verdict{Reason: v1alpha1.ReasonWindowClosed, Message: "no maintenance window matches this node"}
	}
	seen = search(windows, exclusions, now, func(o timeline) bool {
		return len(o.effective) > 0 && (o.effective[0].start.After(now) || o.end(o.effective[0]) != nil)
	})
	if len(seen.effective) == 0 {
		return Verdict{Reason: v1alpha1.ReasonWindowClosed, Message: "no maintenance window opens again"}
	}
	first := seen.effective[0]
	window := seen.covering(windows, first.start)
	if first.start.After(now) {
		return closed(window, first.start)
	}
	return opened(window, seen.end(first))
}

func excluded(by entry, until *time.Time) Verdict {
	message := fmt.Sprintf("exclusion %s holds", by.name)
	if until != nil {
		message += " until " + by.clock(*until)
	}
	why := by.why()
	if why != "" {
		message += ": " + why
	}
	return Verdict{Reason: v1alpha1.ReasonExcluded, Message: message, Window: by.name, Until: until, Why: why}
}

func ignoring(exclusions []entry, now time.Time) Verdict {
	v := Verdict{Open: true, Message: "windows are ignored"}
	seen := search(nil, exclusions, now, func(o timeline) bool { return len(o.exclusions) > 0 })
	if len(seen.exclusions) > 0 {
		v.Until = &seen.exclusions[0].start
	}
	return v
}

func opened(window entry, until *time.Time) Verdict {
	message := fmt.Sprintf("window %s is open", window.name)
	if until != nil {
		message += " until " + window.clock(*until)
	}
	return Verdict{Open: true, Message: message, Window: window.name, Until: until}
}

func closed(window entry, opens time.Time) Verdict {
	return Verdict{
		Reason:  v1alpha1.ReasonWindowClosed,
		Message: fmt.Sprintf("window %s opens %s", window.name, window.clock(opens)),
		Window:  window.name,
		Until:   &opens,
	}
}

// wall returns what a clock in the zone shows at t, as a Time in UTC, in which no hour is
// missing or repeated.
func wall(t time.Time, in *time.Location) time.Time {
	t = t.In(in)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// instants returns when a clock in the zone shows w. For an ordinary time, first and last
// are the same instant. A time that a fold repeats has two. A time in a gap has none: first
// is then the transition, at which the clock jumps past w, and last is w moved forward by
// the gap.
func instants(w time.Time, in *time.Location) (first, last time.Time, gap bool) {
	guess := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, in)
	begin, end := guess.ZoneBounds()
	offsets := []int{offset(guess)}
	if !begin.IsZero() {
		offsets = append(offsets, offset(begin.Add(-time.Second)))
	}
	if !end.IsZero() {
		offsets = append(offsets, offset(end))
	}
	for _, o := range offsets {
		at := w.Add(-time.Duration(o) * time.Second)
		if offset(at.In(in)) != o {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if !first.IsZero() {
		return first, last, false
	}
	for _, transition := range []time.Time{begin, end} {
		if transition.IsZero() {
			continue
		}
		before := w.Add(-time.Duration(offset(transition.Add(-time.Second))) * time.Second)
		after := w.Add(-time.Duration(offset(transition)) * time.Second)
		if !before.Before(transition) && after.Before(transition) {
			return transition.UTC(), before, true
		}
	}
	return guess.UTC(), guess.UTC(), false
}

// offset returns the offset of t's location at t, in seconds east of UTC.
func offset(t time.Time) int {
	_, seconds := t.Zone()
	return seconds
}
