package schedule_test

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

func excluding(s v1alpha1.MaintenanceSchedule, p v1alpha1.Period, types ...v1alpha1.UpgradeType) v1alpha1.MaintenanceSchedule {
	s.Spec.MaintenanceExclusions = append(s.Spec.MaintenanceExclusions, v1alpha1.MaintenanceExclusion{Period: p, UpgradeTypes: types})
	return s
}

func TestLint(t *testing.T) {
	berlin := func(start, end, rule string) v1alpha1.MaintenanceSchedule {
		return windows("s", "Europe/Berlin", period("w", start, end, rule))
	}
	night := func(rule string) v1alpha1.MaintenanceSchedule {
		return berlin("2026-01-01T20:00:00+01:00", "2026-01-02T04:00:00+01:00", rule)
	}
	last := func(rule string) v1alpha1.MaintenanceSchedule {
		return berlin("2026-01-31T20:00:00+01:00", "2026-01-31T23:00:00+01:00", rule)
	}
	winter := func(days string) v1alpha1.Period {
		return period("x", "2026-12-01T00:00:00+01:00", days+"T00:00:00+01:00", "")
	}
	for name, test := range map[string]struct {
		s    v1alpha1.MaintenanceSchedule
		want string // "field: message", or empty
	}{
		"a good one":                         {night("FREQ=DAILY"), ""},
		"monthly from the 31st":              {last("FREQ=MONTHLY"), "maintenanceWindows[0].recurrence: s/w skips every month without a day 31, such as February; BYMONTHDAY=-1 is the last day of any month"},
		"monthly on the 30th":                {night("FREQ=MONTHLY;BYMONTHDAY=1,30"), "maintenanceWindows[0].recurrence: s/w skips every month without a day 30, such as February; BYMONTHDAY=-1 is the last day of any month"},
		"on the 31st of months that have it": {last("FREQ=MONTHLY;BYMONTH=1,3,12;BYMONTHDAY=31"), ""},
		"on the last day":                    {last("FREQ=MONTHLY;BYMONTHDAY=-1"), ""},
		"the last Sunday, by its day":        {berlin("2026-01-25T20:00:00+01:00", "2026-01-26T04:00:00+01:00", "FREQ=MONTHLY;BYMONTHDAY=25,26,27,28,29,30,31;BYDAY=SU;BYMONTH=1,3"), ""},
		"the last workday":                   {last("FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1"), ""},
		"no such day":                        {night("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), "maintenanceWindows[0]: window s/w never opens: no day within nine years fits FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
		"ended before it began":              {night("FREQ=DAILY;UNTIL=20250101T000000Z"), "maintenanceWindows[0]: window s/w never opens: no day within nine years fits FREQ=DAILY;UNTIL=20250101T000000Z"},
		"starts on another day":              {night("FREQ=WEEKLY;BYDAY=SA"), "maintenanceWindows[0].startTime: Thursday 2026-01-01 is not among the days of FREQ=WEEKLY;BYDAY=SA: window s/w opens first on Saturday 2026-01-03"},
		"once, long ago":                     {night(""), "maintenanceWindows[0]: window s/w is over: it closed for the last time at 2026-01-02 04:00 Europe/Berlin"},
		"17 days, each week":                 {berlin("2026-11-20T20:00:00+01:00", "2026-12-07T20:00:00+01:00", "FREQ=WEEKLY"), "maintenanceWindows[0].endTime: window s/w lasts 17d and opens again 7d after it opened, so it does not close in between: endTime is the end of the first occurrence only; UNTIL in the rule ends the recurrence"},
		"all day, each day":                  {berlin("2026-01-01T00:00:00+01:00", "2026-01-02T00:00:00+01:00", "FREQ=DAILY"), ""},
		"over, and once was open":            {night("FREQ=DAILY;COUNT=3"), "maintenanceWindows[0]: window s/w is over: it closed for the last time at 2026-01-04 04:00 Europe/Berlin"},
		"a leap day":                         {berlin("2024-02-29T20:00:00+01:00", "2024-02-29T23:00:00+01:00", "FREQ=YEARLY"), ""},
		"inside the hour that spring skips":  {berlin("2026-01-04T02:10:00+01:00", "2026-01-04T02:50:00+01:00", "FREQ=WEEKLY;BYDAY=SU"), "maintenanceWindows[0]: window s/w stays closed on the night of 2027-03-28: the change of the clock in Europe/Berlin skips all of it"},
		"the same on another day":            {berlin("2026-01-03T02:10:00+01:00", "2026-01-03T02:50:00+01:00", "FREQ=WEEKLY;BYDAY=SA"), ""},
		"written across the fold":            {berlin("2026-10-25T02:30:00+02:00", "2026-10-25T02:10:00+01:00", "FREQ=WEEKLY"), "maintenanceWindows[0].endTime: window s/w opens only once: in the local time of Europe/Berlin its end is not after its start (daylight saving time), so recurrences would have no length\nmaintenanceWindows[0]: window s/w is over: it closed for the last time at 2026-10-25 02:10 Europe/Berlin"},
		"too short":                          {berlin("2026-01-01T04:00:00+01:00", "2026-01-01T04:15:00+01:00", "FREQ=DAILY"), "maintenanceWindows[0].endTime: window s/w lasts 15m0s: too short for a single node, which may need 20m0s"},
		"short, and another goes on": {windows("s", "UTC",
			period("a", "2026-01-01T04:00:00Z", "2026-01-01T04:15:00Z", "FREQ=DAILY"),
			period("b", "2026-01-01T04:15:00Z", "2026-01-01T06:00:00Z", "FREQ=DAILY")), ""},
		"always excluded":                {excluding(night("FREQ=DAILY"), period("x", "2026-01-01T18:00:00+01:00", "2026-01-02T06:00:00+01:00", "FREQ=DAILY")), "maintenanceWindows[0]: window s/w is never open: exclusions cover all of it\nmaintenanceExclusions: exclusions leave 0s open of the 32 days from 2026-11-21; leave at least 48h, so that security fixes can be installed"},
		"27 of 32 days excluded":         {excluding(night("FREQ=DAILY"), winter("2026-12-28")), "maintenanceExclusions: exclusions leave 40h0m0s open of the 32 days from 2026-12-01; leave at least 48h, so that security fixes can be installed"},
		"26 of 32 days excluded":         {excluding(night("FREQ=DAILY"), winter("2026-12-27")), ""},
		"Christmas, with few windows":    {excluding(night("FREQ=WEEKLY"), winter("2026-12-26")), ""},
		"two months, with few windows":   {excluding(night("FREQ=WEEKLY"), winter("2027-02-01")), "maintenanceExclusions: exclusions leave 0s open of the 32 days from 2026-12-01; leave at least 48h, so that security fixes can be installed"},
		"minor versions held back":       {excluding(night("FREQ=DAILY"), winter("2027-09-01"), v1alpha1.TypeMinor), ""},
		"a freeze":                       {freeze("f", "", winter("2026-12-28")), ""},
		"a freeze without an end":        {freeze("f", "", winter("2027-12-28")), "maintenanceExclusions: exclusions leave 0s open of the 32 days from 2026-12-01; leave at least 48h, so that security fixes can be installed"},
		"what cannot be read has no say": {windows("bad", "Nowhere"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range schedule.Lint(test.s, instant("2026-11-21T12:00:00Z")) {
				if f.Schedule != test.s.Name {
					t.Errorf("names schedule %q", f.Schedule)
				}
				got = append(got, f.Field+": "+f.Message)
			}
			if lines := strings.Join(got, "\n"); lines != test.want {
				t.Errorf("got  %s\nwant %s", lines, test.want)
			}
		})
	}
}
