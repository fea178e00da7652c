package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// written is openings as lines, such as "11-22T01:00/11-22T05:00 weekend/sunday-night".
func written(openings []schedule.Opening) string {
	var lines []string
	for _, o := range openings {
		end := "…"
		if !o.End.IsZero() {
			end = o.End.Format("01-02T15:04")
		}
		lines = append(lines, fmt.Sprintf("%s/%s %s", o.Start.Format("01-02T15:04"), end, strings.Join(o.Windows, ",")))
	}
	return strings.Join(lines, "\n")
}

func TestNext(t *testing.T) {
	morning := windows("a", "UTC", period("morning", "2026-01-01T06:00:00Z", "2026-01-01T10:00:00Z", "FREQ=DAILY"))
	noon := windows("b", "UTC", period("noon", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "FREQ=DAILY"))
	long := windows("c", "UTC", period("long", "2026-01-01T09:00:00Z", "2026-01-01T14:00:00Z", "FREQ=DAILY;INTERVAL=2"))
	always := windows("d", "UTC", period("day", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "FREQ=DAILY"))
	once := windows("e", "UTC", period("only", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z", ""))
	counted := windows("f", "UTC", period("years", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z", "FREQ=DAILY;COUNT=1500"))
	hour := freeze("x", "", period("hour", "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "FREQ=DAILY"))
	minor := freeze("y", "", period("hour", "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z", "FREQ=DAILY"), v1alpha1.TypeMinor)
	years := freeze("z", "", period("mornings", "2025-01-01T05:00:00Z", "2025-01-01T13:00:00Z", "FREQ=DAILY;UNTIL=20300101T000000Z"))
	gpu := *morning.DeepCopy()
	gpu.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": "gpu"}}

	for _, test := range []struct {
		name      string
		schedules []v1alpha1.MaintenanceSchedule
		kind      v1alpha1.UpgradeType
		now       string
		n         int
		want      string
	}{
		{"in order", list(morning), "Patch", "2026-11-21T12:00:00Z", 2, "11-22T06:00/11-22T10:00 a/morning\n11-23T06:00/11-23T10:00 a/morning"},
		{"one that is open begins now", list(morning), "Patch", "2026-11-21T07:30:00Z", 1, "11-21T07:30/11-21T10:00 a/morning"},
		{"its end is out", list(morning), "Patch", "2026-11-21T10:00:00Z", 1, "11-22T06:00/11-22T10:00 a/morning"},
		{"touching are one", list(morning, noon), "Patch", "2026-11-21T12:00:00Z", 1, "11-22T06:00/11-22T12:00 a/morning,b/noon"},
		{"overlapping are one", list(long, noon), "Patch", "2026-11-21T22:00:00Z", 2, "11-22T10:00/11-22T12:00 b/noon\n11-23T09:00/11-23T14:00 c/long,b/noon"},
		{"an exclusion cuts in two", list(morning, hour), "Patch", "2026-11-21T12:00:00Z", 2, "11-22T06:00/11-22T08:00 a/morning\n11-22T09:00/11-22T10:00 a/morning"},
		{"a window that is cut off has no name", list(morning, noon, hour), "Patch", "2026-11-21T12:00:00Z", 2, "11-22T06:00/11-22T08:00 a/morning\n11-22T09:00/11-22T12:00 a/morning,b/noon"},
		{"an exclusion of another type", list(morning, minor), "Patch", "2026-11-21T12:00:00Z", 1, "11-22T06:00/11-22T10:00 a/morning"},
		{"an exclusion of this type", list(morning, minor), "Minor", "2026-11-21T12:00:00Z", 1, "11-22T06:00/11-22T08:00 a/morning"},
		{"without an end", list(always), "Patch", "2026-11-21T12:00:00Z", 3, "11-21T12:00/… d/day"},
		{"fewer than asked for", list(once), "Patch", "2026-11-21T12:00:00Z", 3, "11-23T00:00/11-24T00:00 e/only"},
		{"an end years ahead", list(counted), "Patch", "2026-11-21T12:00:00Z", 1, "11-23T00:00/01-01T00:00 f/years"},
		{"excluded for years", list(morning, years), "Patch", "2026-11-21T12:00:00Z", 1, "01-01T06:00/01-01T10:00 a/morning"},
		{"no window of this node", list(gpu), "Patch", "2026-11-21T12:00:00Z", 3, ""},
		{"none asked for", list(morning), "Patch", "2026-11-21T12:00:00Z", 0, ""},
		{"no schedule", nil, "Patch", "2026-11-21T12:00:00Z", 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := schedule.Next(test.schedules, nil, test.kind, instant(test.now), test.n)
			if err != nil || written(got) != test.want {
				t.Errorf("got\n%s (%v)\nwant\n%s", written(got), err, test.want)
			}
		})
	}
	if _, err := schedule.Next(list(morning, windows("bad", "Nowhere")), nil, "Patch", instant("2026-11-21T12:00:00Z"), 1); err == nil {
		t.Error("an invalid schedule has an opening")
	}
}

// TestLongChains checks that the end is found of windows and exclusions that follow each other
// for years.
func TestLongChains(t *testing.T) {
	noon := windows("w", "UTC", period("noon", "2026-01-01T10:00:00Z", "2026-01-01T12:00:00Z", "FREQ=DAILY"))
	years := freeze("z", "", period("mornings", "2025-01-01T09:00:00Z", "2025-01-01T13:00:00Z", "FREQ=DAILY;UNTIL=20320101T000000Z"))
	v := schedule.At(list(noon, years), nil, "Patch", instant("2026-11-21T20:00:00Z"))
	if v.Until == nil || !v.Until.Equal(instant("2032-01-01T10:00:00Z")) {
		t.Errorf("got %+v, want it to open in 2032", v)
	}
}

func TestOpeningsAcrossDays(t *testing.T) {
	for _, test := range []struct {
		name, zone, start, end, rule, from, until string
		want                                      string
	}{
		{"the day is that of the start", "Europe/Berlin", "2026-01-02T22:00:00+01:00", "2026-01-03T06:00:00+01:00", "FREQ=WEEKLY;BYDAY=FR", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z", "11-20T21:00/11-21T05:00"},
		{"over a week", "UTC", "2026-01-05T00:00:00Z", "2026-01-14T00:00:00Z", "FREQ=MONTHLY;BYDAY=1MO", "2026-10-30T00:00:00Z", "2026-11-30T00:00:00Z", "11-02T00:00/11-11T00:00"},
		{"over a week in spring, an hour shorter", "Europe/Berlin", "2026-01-26T00:00:00+01:00", "2026-02-03T00:00:00+01:00", "FREQ=MONTHLY;BYDAY=4MO", "2026-03-10T00:00:00Z", "2026-04-10T00:00:00Z", "03-22T23:00/03-30T22:00"},
		{"over a week in autumn, as long as written", "Europe/Berlin", "2026-01-19T00:00:00+01:00", "2026-01-27T00:00:00+01:00", "FREQ=MONTHLY;BYDAY=3MO", "2026-10-10T00:00:00Z", "2026-11-10T00:00:00Z", "10-18T22:00/10-26T22:00"},
		{"over a month's end", "UTC", "2026-01-31T22:00:00Z", "2026-02-01T04:00:00Z", "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-11-10T00:00:00Z", "2027-03-10T00:00:00Z", "11-30T22:00/12-01T04:00\n12-31T22:00/01-01T04:00\n01-31T22:00/02-01T04:00\n02-28T22:00/03-01T04:00"},
		{"into a leap day", "UTC", "2026-02-28T22:00:00Z", "2026-03-01T02:00:00Z", "FREQ=YEARLY", "2028-01-01T00:00:00Z", "2028-12-01T00:00:00Z", "02-28T22:00/02-29T02:00"},
		{"over a leap day that is not", "UTC", "2024-02-28T22:00:00Z", "2024-03-01T02:00:00Z", "FREQ=YEARLY", "2026-01-01T00:00:00Z", "2026-12-01T00:00:00Z", "02-28T22:00/03-02T02:00"},
		{"on leap days only", "UTC", "2024-02-29T20:00:00Z", "2024-02-29T23:00:00Z", "FREQ=YEARLY", "2025-01-01T00:00:00Z", "2031-12-01T00:00:00Z", "02-29T20:00/02-29T23:00"},
		{"2100 is no leap year", "UTC", "2024-02-29T20:00:00Z", "2024-02-29T23:00:00Z", "FREQ=YEARLY", "2097-01-01T00:00:00Z", "2103-12-01T00:00:00Z", ""},
		{"and 2104 is", "UTC", "2024-02-29T20:00:00Z", "2024-02-29T23:00:00Z", "FREQ=YEARLY", "2097-01-01T00:00:00Z", "2104-12-01T00:00:00Z", "02-29T20:00/02-29T23:00"},
		{"the first is as written, in a fold too", "Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00", "FREQ=DAILY", "2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z", "10-25T01:30/10-25T02:30\n10-26T01:30/10-26T02:30"},
		{"a start that its rule misses is none", "UTC", "2026-11-18T02:00:00Z", "2026-11-18T03:00:00Z", "FREQ=WEEKLY;BYDAY=SU", "2026-11-10T00:00:00Z", "2026-11-24T00:00:00Z", "11-22T02:00/11-22T03:00"},
		{"cut to what is asked about", "UTC", "2026-01-01T02:00:00Z", "2026-01-01T08:00:00Z", "FREQ=DAILY", "2026-11-10T04:00:00Z", "2026-11-11T03:00:00Z", "11-10T04:00/11-10T08:00\n11-11T02:00/11-11T03:00"},
		{"a Friday that Apia never had", "Pacific/Apia", "2011-12-02T01:00:00-10:00", "2011-12-02T05:00:00-10:00", "FREQ=WEEKLY", "2011-12-28T00:00:00Z", "2012-01-06T12:00:00Z", "01-05T11:00/01-05T15:00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := windows("s", test.zone, period("w", test.start, test.end, test.rule))
			got, err := schedule.Openings(list(s), nil, "Patch", instant(test.from), instant(test.until))
			if err != nil || strings.ReplaceAll(written(got), " s/w", "") != test.want {
				t.Errorf("got\n%s (%v)\nwant\n%s", written(got), err, test.want)
			}
			for _, o := range got {
				if o.Start.Location() != time.UTC || o.End.Location() != time.UTC {
					t.Errorf("%v is not in UTC", o)
				}
			}
		})
	}
}
