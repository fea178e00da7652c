package schedule_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t
}

func period(name, start, end, rule string) v1alpha1.Period {
	return v1alpha1.Period{Name: name, StartTime: metav1.NewTime(instant(start)), EndTime: metav1.NewTime(instant(end)), Recurrence: rule}
}

func windows(name, zone string, periods ...v1alpha1.Period) v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.TimeZone = zone
	for _, p := range periods {
		s.Spec.MaintenanceWindows = append(s.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{Period: p})
	}
	return s
}

func freeze(name, reason string, p v1alpha1.Period, types ...v1alpha1.UpgradeType) v1alpha1.MaintenanceSchedule {
	s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.TimeZone = "Europe/Berlin"
	s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: p, Comment: reason, UpgradeTypes: types}}
	return s
}

var sundays = windows("weekend", "Europe/Berlin", period("sunday-night", "2026-01-04T02:00:00+01:00", "2026-01-04T06:00:00+01:00", "FREQ=WEEKLY;BYDAY=SU"))

func TestAt(t *testing.T) {
	xmas := freeze("xmas", "no changes over Christmas", period("days", "2026-12-20T00:00:00+01:00", "2026-12-28T00:00:00+01:00", ""))
	noMinor := freeze("calm", "", period("november", "2026-11-01T00:00:00+01:00", "2026-12-01T00:00:00+01:00", ""), v1alpha1.TypeMinor)
	always := windows("always", "UTC", period("day", "2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z", "FREQ=DAILY"))
	gpu := windows("gpu", "UTC", period("noon", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z", "FREQ=DAILY"))
	gpu.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "gpu"}}
	once := windows("once", "UTC", period("only", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z", ""))

	for _, test := range []struct {
		name      string
		schedules []v1alpha1.MaintenanceSchedule
		labels    map[string]string
		kind      v1alpha1.UpgradeType
		now       string
		open      bool
		reason    v1alpha1.Reason
		message   string
		until     string
	}{
		{"before it opens", list(sundays), nil, "Patch", "2026-11-18T12:00:00Z", false, v1alpha1.ReasonWindowClosed, "window weekend/sunday-night opens 2026-11-22 02:00 Europe/Berlin", "2026-11-22T01:00:00Z"},
		{"the first instant is in", list(sundays), nil, "Patch", "2026-11-22T01:00:00Z", true, "", "window weekend/sunday-night is open until 2026-11-22 06:00 Europe/Berlin", "2026-11-22T05:00:00Z"},
		{"the last is out", list(sundays), nil, "Patch", "2026-11-22T05:00:00Z", false, v1alpha1.ReasonWindowClosed, "window weekend/sunday-night opens 2026-11-29 02:00 Europe/Berlin", "2026-11-29T01:00:00Z"},
		{"before the schedule began", list(sundays), nil, "Patch", "2025-12-28T02:00:00Z", false, v1alpha1.ReasonWindowClosed, "window weekend/sunday-night opens 2026-01-04 02:00 Europe/Berlin", "2026-01-04T01:00:00Z"},
		{"summer keeps the wall clock", list(sundays), nil, "Patch", "2026-07-05T00:00:00Z", true, "", "window weekend/sunday-night is open until 2026-07-05 06:00 Europe/Berlin", "2026-07-05T04:00:00Z"},
		{"an exclusion wins", list(sundays, xmas), nil, "Patch", "2026-12-20T02:00:00Z", false, v1alpha1.ReasonExcluded, "exclusion xmas/days holds until 2026-12-28 00:00 Europe/Berlin: no changes over Christmas", "2026-12-27T23:00:00Z"},
		{"the next opening leaves exclusions out", list(sundays, xmas), nil, "Patch", "2026-12-18T02:00:00Z", false, v1alpha1.ReasonWindowClosed, "window weekend/sunday-night opens 2027-01-03 02:00 Europe/Berlin", "2027-01-03T01:00:00Z"},
		{"an exclusion of another type", list(sundays, noMinor), nil, "Patch", "2026-11-22T02:00:00Z", true, "", "window weekend/sunday-night is open until 2026-11-22 06:00 Europe/Berlin", "2026-11-22T05:00:00Z"},
		{"an exclusion of this type", list(sundays, noMinor), nil, "Minor", "2026-11-22T02:00:00Z", false, v1alpha1.ReasonExcluded, "exclusion calm/november holds until 2026-12-01 00:00 Europe/Berlin", "2026-11-30T23:00:00Z"},
		{"an unknown type is excluded by any", list(sundays, noMinor), nil, "", "2026-11-22T02:00:00Z", false, v1alpha1.ReasonExcluded, "exclusion calm/november holds until 2026-12-01 00:00 Europe/Berlin", "2026-11-30T23:00:00Z"},
		{"open until an exclusion begins", list(always, xmas), nil, "Patch", "2026-12-19T22:00:00Z", true, "", "window always/day is open until 2026-12-19 23:00 UTC", "2026-12-19T23:00:00Z"},
		{"open without an end", list(always), nil, "Patch", "2026-12-19T22:00:00Z", true, "", "window always/day is open", ""},
		{"another node's window", list(gpu), map[string]string{"pool": "web"}, "Patch", "2026-11-22T12:30:00Z", false, v1alpha1.ReasonWindowClosed, "no maintenance window matches this node", ""},
		{"this node's window", list(gpu), map[string]string{"pool": "gpu"}, "Patch", "2026-11-22T12:30:00Z", true, "", "window gpu/noon is open until 2026-11-22 13:00 UTC", "2026-11-22T13:00:00Z"},
		{"windows add up", list(sundays, gpu), map[string]string{"pool": "gpu"}, "Patch", "2026-11-22T06:00:00Z", false, v1alpha1.ReasonWindowClosed, "window gpu/noon opens 2026-11-22 12:00 UTC", "2026-11-22T12:00:00Z"},
		{"no schedule at all", nil, nil, "Patch", "2026-11-22T06:00:00Z", false, v1alpha1.ReasonWindowClosed, "no maintenance window matches this node", ""},
		{"once, and over", list(once), nil, "Patch", "2026-11-22T06:00:00Z", false, v1alpha1.ReasonWindowClosed, "no maintenance window opens again", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := schedule.At(test.schedules, test.labels, test.kind, instant(test.now))
			until := ""
			if got.Until != nil {
				until = got.Until.UTC().Format(time.RFC3339)
			}
			if got.Open != test.open || got.Reason != test.reason || got.Message != test.message || until != test.until {
				t.Errorf("got  %v %q %q until %q\nwant %v %q %q until %q", got.Open, got.Reason, got.Message, until, test.open, test.reason, test.message, test.until)
			}
		})
	}
}

func list(s ...v1alpha1.MaintenanceSchedule) []v1alpha1.MaintenanceSchedule { return s }

func TestIgnoringWindows(t *testing.T) {
	xmas := freeze("xmas", "", period("days", "2026-12-20T00:00:00+01:00", "2026-12-28T00:00:00+01:00", ""))
	if v := schedule.IgnoringWindows(list(sundays, xmas), nil, "Patch", instant("2026-12-01T00:00:00Z")); !v.Open {
		t.Errorf("a closed window counts: %s", v.Message)
	}
	if v := schedule.IgnoringWindows(list(sundays, xmas), nil, "Patch", instant("2026-12-21T00:00:00Z")); v.Open {
		t.Error("an exclusion does not count")
	}
}

// TestInvalidClosesEverything checks that one invalid schedule closes all.
func TestInvalidClosesEverything(t *testing.T) {
	good := "2026-01-01T12:00:00Z"
	for name, rule := range map[string]string{
		"hourly":            "FREQ=HOURLY;INTERVAL=2",
		"hourly for ever":   "FREQ=HOURLY;INTERVAL=2;BYHOUR=3",
		"by hour":           "FREQ=DAILY;BYHOUR=3",
		"by minute":         "FREQ=DAILY;BYMINUTE=3",
		"by second":         "FREQ=DAILY;BYSECOND=3",
		"two rules":         "FREQ=DAILY\nRRULE:FREQ=WEEKLY",
		"embedded start":    "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY",
		"no frequency":      "INTERVAL=2",
		"a part twice":      "FREQ=DAILY;FREQ=WEEKLY",
		"empty part":        "FREQ=DAILY;",
		"interval 0":        "FREQ=DAILY;INTERVAL=0",
		"month 13":          "FREQ=YEARLY;BYMONTH=13",
		"day 0":             "FREQ=MONTHLY;BYMONTHDAY=0",
		"ordinal in a week": "FREQ=WEEKLY;BYDAY=2MO",
		"sixth monday":      "FREQ=MONTHLY;BYDAY=6MO",
		"no weekday":        "FREQ=WEEKLY;BYDAY=XX",
		"half a weekday":    "FREQ=WEEKLY;BYDAY=M",
		"count and until":   "FREQ=DAILY;COUNT=3;UNTIL=20261231T000000Z",
		"until a day":       "FREQ=DAILY;UNTIL=20261231",
		"setpos alone":      "FREQ=MONTHLY;BYSETPOS=1",
		"words":             "every sunday",
		"outside the month": "FREQ=YEARLY;BYMONTH=12;BYDAY=53MO",
		"before the month":  "FREQ=YEARLY;BYMONTH=1;BYDAY=-6MO",
		"very long":         "FREQ=DAILY;BYMONTHDAY=1" + strings.Repeat(",1", 200),
	} {
		t.Run(name, func(t *testing.T) {
			bad := windows("bad", "UTC", period("w", good, "2026-01-01T13:00:00Z", rule))
			refused(t, list(sundays, bad), "schedule bad: maintenanceWindows[0] \"w\": recurrence: ")
		})
	}
	refused(t, list(windows("bad", "Europe/Berln"), sundays), "schedule bad: timeZone: ")
	refused(t, list(windows("bad", "Local"), sundays), "schedule bad: timeZone: ")
	refused(t, list(windows("bad", "UTC", period("w", good, good, ""))), "endTime: ")
	refused(t, list(windows("bad", "UTC", period("w", "0001-01-01T00:00:00Z", good, ""))), "startTime: ")
	refused(t, list(freeze("bad", "", period("w", good, "2026-01-02T00:00:00Z", ""), "Everything")), "upgrades[0]: ")
	selector := windows("bad", "UTC")
	selector.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{{Key: "a", Operator: "Near"}}}
	refused(t, list(sundays, selector), "schedule bad: nodeSelector: ")
}

func refused(t *testing.T, schedules []v1alpha1.MaintenanceSchedule, message string) {
	t.Helper()
	open := instant("2026-11-22T02:00:00Z")
	for _, v := range []schedule.Verdict{
		schedule.At(schedules, nil, "Patch", open),
		schedule.IgnoringWindows(schedules, nil, "Patch", open),
	} {
		if v.Open || v.Reason != v1alpha1.ReasonScheduleInvalid || !strings.Contains(v.Message, message) {
			t.Errorf("got open=%v %s %q, want ScheduleInvalid with %q", v.Open, v.Reason, v.Message, message)
		}
	}
}

func TestState(t *testing.T) {
	for _, test := range []struct {
		s     v1alpha1.MaintenanceSchedule
		now   string
		state string
	}{
		{sundays, "2026-11-22T02:00:00Z", schedule.StateOpen},
		{sundays, "2026-11-23T02:00:00Z", schedule.StateClosed},
		{freeze("x", "", period("d", "2026-12-20T00:00:00Z", "2026-12-28T00:00:00Z", "")), "2026-12-21T00:00:00Z", schedule.StateExcluded},
		{windows("bad", "Nowhere"), "2026-12-21T00:00:00Z", schedule.StateClosed},
	} {
		if got, _ := schedule.State(&test.s, instant(test.now)); got != test.state {
			t.Errorf("%s at %s is %s, want %s", test.s.Name, test.now, got, test.state)
		}
	}
	if schedule.Check(&sundays) != nil {
		t.Errorf("Check refuses %s", sundays.Name)
	}
}
