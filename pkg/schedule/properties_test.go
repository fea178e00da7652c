package schedule_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// nights are nights in which the clock of their zone changes.
var nights = []struct{ zone, at string }{
	{"Europe/Berlin", "2026-03-29T01:00:00Z"}, {"Europe/Berlin", "2026-10-25T01:00:00Z"},
	{"America/New_York", "2026-03-08T07:00:00Z"}, {"America/New_York", "2026-11-01T06:00:00Z"},
	{"America/Sao_Paulo", "2018-11-04T03:00:00Z"}, {"America/Sao_Paulo", "2018-02-18T02:00:00Z"},
	{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"}, {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},
	{"Africa/Casablanca", "2026-02-15T02:00:00Z"}, {"Africa/Casablanca", "2026-03-22T02:00:00Z"},
	{"UTC", "2028-02-29T00:00:00Z"},
}

// pick is what the generators draw from.
func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func anyRule(t *rapid.T) string {
	freq := pick(t, "freq", "DAILY", "WEEKLY", "MONTHLY", "YEARLY")
	rule := "FREQ=" + freq
	add := func(key string, values ...string) {
		if value := pick(t, key, append(values, "", "")...); value != "" {
			rule += ";" + key + "=" + value
		}
	}
	add("INTERVAL", "1", "2", "3", "5")
	add("BYMONTH", "2", "3,10", "1,2,11,12", "1,2,3,4,5,6,7,8,9,10,11,12")
	plain := []string{"SU", "MO,TU,WE,TH,FR", "SA,SU", "MO,TH"}
	ordinal := []string{"-1SU", "1SA,3SA", "-1FR,2MO", "WE,1TU", "5SU", "-5SA,TU"}
	switch freq {
	case "DAILY":
		add("BYDAY", plain...)
		add("BYMONTHDAY", "31", "1,15,29", "-1", "25,26,27,28,29,30,31,1,2,3,4,5")
	case "WEEKLY":
		add("BYDAY", plain...)
		add("WKST", "SU", "MO", "WE")
	default:
		add("BYDAY", append(plain, ordinal...)...)
		add("BYMONTHDAY", "31", "1,15,29", "-1", "-30,5", "25,26,27,28,29,30,31")
		if strings.Contains(rule, "BY") {
			add("BYSETPOS", "1", "-1", "1,-2", "2,3")
		}
	}
	switch pick(t, "limit", "none", "none", "count", "until") {
	case "count":
		rule += fmt.Sprintf(";COUNT=%d", rapid.IntRange(1, 900).Draw(t, "count"))
	case "until":
		rule += ";UNTIL=" + pick(t, "until", "20270101T000000Z", "20260329T003000Z", "20111230T120000Z", "20181104T033000Z")
	}
	return rule
}

// anyPeriod begins some time before now and, if it recurs, comes to now.
func anyPeriod(t *rapid.T, name string, now time.Time) v1alpha1.Period {
	ago := rapid.IntRange(0, 800).Draw(t, "days ago")
	start := now.AddDate(0, 0, -ago).Add(time.Duration(rapid.IntRange(-5*12, 5*12).Draw(t, "5 minutes from the change")) * 5 * time.Minute)
	lasts := time.Duration(pick(t, "minutes", 15, 30, 60, 61, 120, 240, day, day+90, 3*day, 8*day)) * time.Minute
	p := v1alpha1.Period{Name: name, StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(start.Add(lasts))}
	if ago > 10 || rapid.Bool().Draw(t, "recurs") {
		p.Recurrence = anyRule(t)
	}
	return p
}

func anySchedule(t *rapid.T) (v1alpha1.MaintenanceSchedule, time.Time) {
	night := rapid.SampledFrom(nights).Draw(t, "night")
	at := instant(night.at)
	s := windows("s", night.zone)
	for i := range rapid.IntRange(1, 3).Draw(t, "windows") {
		s.Spec.MaintenanceWindows = append(s.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{Period: anyPeriod(t, fmt.Sprint("w", i), at)})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "exclusions") {
		s.Spec.MaintenanceExclusions = append(s.Spec.MaintenanceExclusions, v1alpha1.MaintenanceExclusion{Period: anyPeriod(t, fmt.Sprint("x", i), at)})
	}
	return s, at
}

func opens(t *rapid.T, s v1alpha1.MaintenanceSchedule, from, until time.Time) []schedule.Opening {
	t.Helper()
	openings, err := schedule.Openings(list(s), nil, "Patch", from, until)
	if err != nil {
		t.Fatal(err)
	}
	return openings
}

func open(openings []schedule.Opening, at time.Time) bool {
	return slices.ContainsFunc(openings, func(o schedule.Opening) bool {
		return !o.Start.After(at) && o.End.After(at)
	})
}

// TestOpeningsMatchSlowReading compares openings with a simple reading minute by minute.
func TestOpeningsMatchSlowReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := anySchedule(t)
		from, until := at.AddDate(0, 0, -4), at.AddDate(0, 0, 12)
		want, got := slowOpen(s, from, until), opens(t, s, from, until)
		for i, wanted := range want {
			now := from.Add(time.Duration(i) * time.Minute)
			if open(got, now) != wanted {
				t.Fatalf("%+v\nopen at %s: want %v; openings %v", s.Spec, now, wanted, got)
			}
		}
	})
}

// TestAtAgreesWithOpenings checks that At agrees with the openings at every minute of the night,
// and that its Until is the next change.
func TestAtAgreesWithOpenings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := anySchedule(t)
		openings := opens(t, s, at.AddDate(0, 0, -1), at.AddDate(0, 0, 2))
		var checked time.Time
		for now := at.Add(-2 * time.Hour); now.Before(at.Add(3 * time.Hour)); now = now.Add(time.Minute) {
			v := schedule.At(list(s), nil, "Patch", now)
			if v.Open != open(openings, now) {
				t.Fatalf("%+v\nat %s: %+v, but openings %v", s.Spec, now, v, openings)
			}
			if v.Until == nil || v.Until.Equal(checked) || v.Reason == v1alpha1.ReasonExcluded {
				continue
			}
			checked = *v.Until
			if !v.Until.After(now) || schedule.At(list(s), nil, "Patch", *v.Until).Open == v.Open {
				t.Fatalf("%+v\nat %s: %+v, and then no change", s.Spec, now, v)
			}
		}
	})
}

// TestNextIsMonotone checks that the openings of Next are in order with gaps between, that a
// later start never gives an earlier opening, and that a larger n only adds openings.
func TestNextIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := anySchedule(t)
		later := at.Add(time.Duration(rapid.IntRange(0, 60*day).Draw(t, "later")) * time.Minute)
		next := func(now time.Time, n int) []schedule.Opening {
			list, err := schedule.Next(list(s), nil, "Patch", now, n)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		few, more, after := next(at, 3), next(at, 6), next(later, 3)
		if len(few) != min(3, len(more)) || len(after) > 0 && len(few) == 0 {
			t.Fatalf("%+v\n%v, then %v, later %v", s.Spec, few, more, after)
		}
		for i, o := range few {
			if !slices.Equal(o.Windows, more[i].Windows) || !o.Start.Equal(more[i].Start) || !o.End.Equal(more[i].End) {
				t.Fatalf("%+v\n%v is not the beginning of %v", s.Spec, few, more)
			}
			if i < len(after) && after[i].Start.Before(o.Start) {
				t.Fatalf("%+v\nlater %v is earlier than %v", s.Spec, after, few)
			}
		}
		for i, o := range more {
			if len(o.Windows) == 0 || o.Start.Before(at) || !o.End.IsZero() && !o.End.After(o.Start) || i > 0 && !o.Start.After(more[i-1].End) {
				t.Fatalf("%+v\nout of order: %v", s.Spec, more)
			}
		}
	})
}

func TestOpeningIsNotLongerThanWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		night := rapid.SampledFrom(nights).Draw(t, "night")
		at := instant(night.at)
		p := anyPeriod(t, "w", at)
		written := p.EndTime.Sub(p.StartTime.Time)
		p.Recurrence = pick(t, "rule", "FREQ=MONTHLY", "FREQ=WEEKLY;INTERVAL=2", "FREQ=YEARLY;BYDAY=20SU") // without overlaps
		for _, o := range opens(t, windows("s", night.zone, p), at.AddDate(0, -2, 0), at.AddDate(1, 0, 0)) {
			if o.End.Sub(o.Start) > written {
				t.Fatalf("%v is longer than %s", o, written)
			}
		}
	})
}

// TestExclusionsCloseAndWindowsOpen checks that a further exclusion opens nothing, and that a
// further window closes nothing.
func TestExclusionsCloseAndWindowsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, at := anySchedule(t)
		from, until := at.AddDate(0, 0, -4), at.AddDate(0, 0, 12)
		before := opens(t, s, from, until)
		p := anyPeriod(t, "more", at)
		fewer, more := *s.DeepCopy(), *s.DeepCopy()
		fewer.Spec.MaintenanceExclusions = append(fewer.Spec.MaintenanceExclusions, v1alpha1.MaintenanceExclusion{Period: p})
		more.Spec.MaintenanceWindows = append(more.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{Period: p})
		if small := opens(t, fewer, from, until); !within(small, before) {
			t.Fatalf("%+v\nan exclusion %+v opened: %v, before %v", s.Spec, p, small, before)
		}
		if big := opens(t, more, from, until); !within(before, big) {
			t.Fatalf("%+v\na window %+v closed: %v, before %v", s.Spec, p, big, before)
		}
	})
}

// within reports whether every inner opening is in an outer one.
func within(inner, outer []schedule.Opening) bool {
	for _, o := range inner {
		if !slices.ContainsFunc(outer, func(around schedule.Opening) bool {
			return !around.Start.After(o.Start) && !around.End.Before(o.End)
		}) {
			return false
		}
	}
	return true
}
