package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

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
	by       string // who requested the exclusion. Empty: that is not known
	upgrades []v1alpha1.UpgradeType
}

// clock formats t in the schedule's zone.
func (e entry) clock(t time.Time) string {
	return t.In(e.zone).Format("2006-01-02 15:04 ") + e.zone.String()
}

// why returns the reason of an exclusion, and who requested it.
func (e entry) why() string {
	if e.by == "" {
		return e.reason
	}
	return strings.TrimSpace(e.reason + " (requested by " + e.by + ")")
}

// appliesTo reports whether an exclusion stops upgrades of that type.
func (e entry) appliesTo(t v1alpha1.UpgradeType) bool {
	return t == "" || len(e.upgrades) == 0 || slices.Contains(e.upgrades, t)
}

// Problem is why a schedule is invalid.
type Problem struct {
	Schedule string
	// Field is the path below spec, such as maintenanceWindows[0].recurrence.
	Field string
	// Name is that of the window or exclusion. Empty: it is not about one.
	Name    string
	Message string
}

// Error names schedule and field, such as maintenanceWindows[0] "night": recurrence.
func (p *Problem) Error() string {
	field := p.Field
	if at := strings.Index(field, "]"); p.Name != "" && at >= 0 {
		field = fmt.Sprintf("%s %q: %s", field[:at+1], p.Name, strings.TrimPrefix(field[at+1:], "."))
	}
	return fmt.Sprintf("schedule %s: %s: %s", p.Schedule, field, p.Message)
}

// Check returns why the schedule is invalid: a Problem that names the field; nil if it is
// valid.
func Check(s *v1alpha1.MaintenanceSchedule) error {
	_, err := compile(s, s.CreationTimestamp.Time)
	return err
}

func compile(s *v1alpha1.MaintenanceSchedule, now time.Time) (compiled, error) {
	c := compiled{selector: labels.Everything()}
	in, err := Zone(s.Spec.TimeZone)
	if err != nil {
		return c, &Problem{Schedule: s.Name, Field: "timeZone", Message: err.Error()}
	}
	c.zone = in
	if s.Spec.NodeSelector != nil {
		if field, err := checkSelector(*s.Spec.NodeSelector); err != nil {
			return c, &Problem{Schedule: s.Name, Field: "nodeSelector" + field, Message: err.Error()}
		}
		if c.selector, err = s.Spec.NodeSelector.AsSelector(); err != nil {
			return c, &Problem{Schedule: s.Name, Field: "nodeSelector", Message: err.Error()}
		}
	}
	for i, w := range s.Spec.MaintenanceWindows {
		e, field, err := compilePeriod(s.Name, w.Period, in, false, now)
		if err != nil {
			return c, &Problem{s.Name, fmt.Sprintf("maintenanceWindows[%d].%s", i, field), w.Name, err.Error()}
		}
		c.windows = append(c.windows, e)
	}
	for i, x := range s.Spec.MaintenanceExclusions {
		e, field, err := compileExclusion(s.Name, x, in, now)
		if err != nil {
			return c, &Problem{s.Name, fmt.Sprintf("maintenanceExclusions[%d].%s", i, field), x.Name, err.Error()}
		}
		e.by = requestedBy(s)
		c.exclusions = append(c.exclusions, e)
	}
	return c, nil
}

// maxUser is how long a user's name may be in what people are told.
const maxUser = 256

// requestedBy returns who requested the schedule. Empty: that is not known.
func requestedBy(s *v1alpha1.MaintenanceSchedule) string {
	by := s.Annotations[v1alpha1.RequestedByAnnotation]
	if len(by) > maxUser {
		return ""
	}
	return by
}

// checkSelector returns what is wrong with a selector, and the path below it.
func checkSelector(s v1alpha1.LabelSelector) (field string, err error) {
	const keyRule = "%q is no key of a label, which is a name such as pool or example.com/pool"
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if len(validation.IsQualifiedName(key)) > 0 {
			return ".matchLabels", fmt.Errorf(keyRule, key)
		}
	}
	for i, e := range s.MatchExpressions {
		field = fmt.Sprintf(".matchExpressions[%d]", i)
		listed := e.Operator == "In" || e.Operator == "NotIn"
		switch {
		case len(validation.IsQualifiedName(e.Key)) > 0:
			return field + ".key", fmt.Errorf(keyRule, e.Key)
		case listed && len(e.Values) == 0:
			return field + ".values", fmt.Errorf("operator %s needs values", e.Operator)
		case !listed && len(e.Values) > 0:
			return field + ".values", fmt.Errorf("operator %s has no values", e.Operator)
		}
	}
	return "", nil
}

func compileExclusion(schedule string, x v1alpha1.MaintenanceExclusion, in *time.Location, now time.Time) (e entry, field string, err error) {
	e, field, err = compilePeriod(schedule, x.Period, in, true, now)
	e.reason, e.upgrades = x.Comment, x.UpgradeTypes
	for i, t := range x.UpgradeTypes {
		if !slices.Contains(v1alpha1.UpgradeTypes, t) {
			return e, fmt.Sprintf("upgrades[%d]", i), fmt.Errorf("%q is not Patch, Minor, Reboot or Rollback", t)
		}
	}
	return e, field, err
}

// compilePeriod returns the entry of a window or exclusion, or what is wrong with one of its fields.
func compilePeriod(schedule string, p v1alpha1.Period, in *time.Location, exclusion bool, now time.Time) (e entry, field string, err error) {
	e = entry{name: schedule + "/" + p.Name, zone: in}
	year := p.StartTime.UTC().Year()
	switch {
	case p.StartTime.IsZero():
		return e, "startTime", fmt.Errorf("is missing; it is the start of the first occurrence, such as 2026-01-03T01:00:00Z")
	case year < 1970 || year > 2999:
		return e, "startTime", fmt.Errorf("year %d is not within 1970 to 2999", year)
	case p.EndTime.IsZero():
		return e, "endTime", fmt.Errorf("is missing; it is the end of the first occurrence, such as %s", p.StartTime.Add(4*time.Hour).UTC().Format(time.RFC3339))
	case !p.StartTime.Before(&p.EndTime):
		return e, "endTime", fmt.Errorf("must be later than startTime")
	}
	e.series, err = newSeries(p, in, exclusion, now)
	return e, "recurrence", err
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
