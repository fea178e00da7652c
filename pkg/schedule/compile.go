package schedule

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// compiled is a parsed schedule.
type compiled struct {
	zone       *time.Location
	selector   labels.Selector
	windows    []entry
	exclusions []entry
}

// entry is a window or an exclusion.
type entry struct {
	name     string // schedule/window
	zone     *time.Location
	series   *series
	reason   string
	upgrades []v1alpha1.UpgradeType
}

// clock formats t in the schedule's zone.
func (e entry) clock(t time.Time) string {
	return t.In(e.zone).Format("2006-01-02 15:04 ") + e.zone.String()
}

// appliesTo reports whether an exclusion stops upgrades of that type.
func (e entry) appliesTo(t v1alpha1.UpgradeType) bool {
	return t == "" || len(e.upgrades) == 0 || slices.Contains(e.upgrades, t)
}

// Check returns why the schedule is invalid, naming schedule and field; nil if it is
// valid.
func Check(s *v1alpha1.MaintenanceSchedule) error {
	_, err := compile(s, s.CreationTimestamp.Time)
	return err
}

func compile(s *v1alpha1.MaintenanceSchedule, now time.Time) (compiled, error) {
	c := compiled{selector: labels.Everything()}
	in, err := zone(s.Spec.TimeZone)
	if err != nil {
		return c, fmt.Errorf("schedule %s: timeZone: %w", s.Name, err)
	}
	c.zone = in
	if s.Spec.NodeSelector != nil {
		if c.selector, err = s.Spec.NodeSelector.AsSelector(); err != nil {
			return c, fmt.Errorf("schedule %s: nodeSelector: %w", s.Name, err)
		}
	}
	for i, w := range s.Spec.MaintenanceWindows {
		e, err := compilePeriod(s.Name, w.Period, in, false, now)
		if err != nil {
			return c, fmt.Errorf("schedule %s: maintenanceWindows[%d] %q: %w", s.Name, i, w.Name, err)
		}
		c.windows = append(c.windows, e)
	}
	for i, x := range s.Spec.MaintenanceExclusions {
		e, err := compileExclusion(s.Name, x, in, now)
		if err != nil {
			return c, fmt.Errorf("schedule %s: maintenanceExclusions[%d] %q: %w", s.Name, i, x.Name, err)
		}
		c.exclusions = append(c.exclusions, e)
	}
	return c, nil
}

func compileExclusion(schedule string, x v1alpha1.MaintenanceExclusion, in *time.Location, now time.Time) (entry, error) {
	e, err := compilePeriod(schedule, x.Period, in, true, now)
	e.reason, e.upgrades = x.Reason, x.Upgrades
	for _, t := range x.Upgrades {
		if t != v1alpha1.TypePatch && t != v1alpha1.TypeMinor && t != v1alpha1.TypeReboot {
			return e, fmt.Errorf("upgrades: %q is not Patch, Minor or Reboot", t)
		}
	}
	return e, err
}

func compilePeriod(schedule string, p v1alpha1.Period, in *time.Location, exclusion bool, now time.Time) (entry, error) {
	e := entry{name: schedule + "/" + p.Name, zone: in}
	if p.StartTime.IsZero() {
		return e, fmt.Errorf("startTime: is missing; it is the start of the first occurrence, such as 2026-01-03T01:00:00Z")
	}
	if year := p.StartTime.UTC().Year(); year < 1970 || year > 2999 {
		return e, fmt.Errorf("startTime: year %d is not within 1970 to 2999", year)
	}
	if p.EndTime.IsZero() {
		return e, fmt.Errorf("endTime: is missing; it is the end of the first occurrence, such as %s", p.StartTime.Add(4*time.Hour).UTC().Format(time.RFC3339))
	}
	if !p.StartTime.Before(&p.EndTime) {
		return e, fmt.Errorf("endTime: must be later than startTime")
	}
	series, err := newSeries(p, in, exclusion, now)
	if err != nil {
		return e, fmt.Errorf("recurrence: %w", err)
	}
	e.series = series
	return e, nil
}

// clockSlack is longer than any change of a clock: Apia skipped a whole day.
const clockSlack = 26 * time.Hour

// maxTime is later than any time that callers ask about.
var maxTime = time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)

// clock resolves wall-clock times of a zone. It caches the span without a transition
// around the last one, because the next is mostly in it too.
type clock struct {
	in     *time.Location
	steady span          // no transition within clockSlack of it
	offset time.Duration // then
}

// instants is the function instants with a cache.
func (c *clock) instants(w time.Time) (first, last time.Time, gap bool) {
	if at := w.Add(-c.offset); c.steady.covers(at) {
		return at, at, false
	}
	first, last, gap = instants(w, c.in)
	here := first.In(c.in)
	begin, end := here.ZoneBounds()
	if end.IsZero() {
		end = maxTime
	}
	c.steady = span{begin.Add(clockSlack).UTC(), end.Add(-clockSlack).UTC()}
	c.offset = time.Duration(offset(here)) * time.Second
	return first, last, gap
}
