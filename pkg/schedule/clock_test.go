package schedule_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// openings returns when the schedule is open between two instants, by At at every minute.
func openings(s v1alpha1.MaintenanceSchedule, from, to string) []string {
	var got []string
	var begin time.Time
	for now := instant(from); !now.After(instant(to)); now = now.Add(time.Minute) {
		open := schedule.At(list(s), nil, "Patch", now).Open
		switch {
		case open && begin.IsZero():
			begin = now
		case !open && !begin.IsZero():
			got = append(got, begin.UTC().Format("02T15:04")+"-"+now.UTC().Format("02T15:04"))
			begin = time.Time{}
		}
	}
	return got
}

func TestClockChanges(t *testing.T) {
	for _, test := range []struct {
		name, zone, start, end, from, to string
		want                             string
	}{
		{"ordinary night", "Europe/Berlin", "2026-01-01T02:30:00+01:00", "2026-01-01T03:30:00+01:00", "2026-03-28T00:00:00Z", "2026-03-28T12:00:00Z", "28T01:30-28T02:30"},
		{"a start in the spring gap moves by the gap", "Europe/Berlin", "2026-01-01T02:30:00+01:00", "2026-01-01T05:00:00+01:00", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "29T01:30-29T03:00"},
		{"a window inside the gap is closed that night", "Europe/Berlin", "2026-01-01T02:00:00+01:00", "2026-01-01T03:00:00+01:00", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", ""},
		{"across the gap ends on the wall clock", "Europe/Berlin", "2026-01-01T01:00:00+01:00", "2026-01-01T05:00:00+01:00", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "29T00:00-29T03:00"},
		{"an end in the gap ends when the clock jumps past it", "Europe/Berlin", "2026-01-01T01:00:00+01:00", "2026-01-01T02:30:00+01:00", "2026-03-28T20:00:00Z", "2026-03-29T12:00:00Z", "29T00:00-29T01:00"},
		{"a start in the fold is the first", "Europe/Berlin", "2026-01-01T02:30:00+01:00", "2026-01-01T03:30:00+01:00", "2026-10-25T00:00:00Z", "2026-10-25T12:00:00Z", "25T00:30-25T01:30"},
		{"across the fold lasts as written", "Europe/Berlin", "2026-01-01T01:00:00+01:00", "2026-01-01T05:00:00+01:00", "2026-10-24T20:00:00Z", "2026-10-25T12:00:00Z", "24T23:00-25T03:00"},
		{"New York, a start in the gap", "America/New_York", "2026-01-01T02:30:00-05:00", "2026-01-01T04:00:00-05:00", "2026-03-08T00:00:00Z", "2026-03-08T20:00:00Z", "08T07:30-08T08:00"},
		{"New York, a start in the fold", "America/New_York", "2026-01-01T01:30:00-05:00", "2026-01-01T03:00:00-05:00", "2026-11-01T00:00:00Z", "2026-11-01T20:00:00Z", "01T05:30-01T07:00"},
		{"New York, an end in the fold", "America/New_York", "2026-01-01T00:00:00-05:00", "2026-01-01T01:30:00-05:00", "2026-11-01T00:00:00Z", "2026-11-01T20:00:00Z", "01T04:00-01T05:30"},
		{"São Paulo, a gap at midnight", "America/Sao_Paulo", "2018-01-01T00:00:00-02:00", "2018-01-01T04:00:00-02:00", "2018-11-04T00:00:00Z", "2018-11-04T12:00:00Z", "04T03:00-04T06:00"},
		{"São Paulo, within the gap", "America/Sao_Paulo", "2018-01-01T00:00:00-02:00", "2018-01-01T01:00:00-02:00", "2018-11-04T00:00:00Z", "2018-11-04T12:00:00Z", ""},
		{"São Paulo, across the gap", "America/Sao_Paulo", "2018-01-01T23:00:00-02:00", "2018-01-02T00:30:00-02:00", "2018-11-03T12:00:00Z", "2018-11-04T12:00:00Z", "04T02:00-04T03:00"},
		{"São Paulo, a fold that ends at midnight", "America/Sao_Paulo", "2018-01-01T23:30:00-02:00", "2018-01-02T01:00:00-02:00", "2018-02-17T12:00:00Z", "2018-02-18T12:00:00Z", "18T01:30-18T03:00"},
		{"Lord Howe, a gap of half an hour", "Australia/Lord_Howe", "2026-01-01T02:15:00+11:00", "2026-01-01T04:00:00+11:00", "2026-10-03T12:00:00Z", "2026-10-03T20:00:00Z", "03T15:45-03T17:00"},
		{"Lord Howe, a fold of half an hour", "Australia/Lord_Howe", "2026-01-01T01:45:00+11:00", "2026-01-01T02:15:00+11:00", "2026-04-04T10:00:00Z", "2026-04-04T20:00:00Z", "04T14:45-04T15:15"},
		{"Apia, a day that is missing", "Pacific/Apia", "2011-12-01T01:00:00-10:00", "2011-12-01T05:00:00-10:00", "2011-12-30T00:00:00Z", "2011-12-31T00:00:00Z", "30T11:00-30T15:00"},
		{"Apia, into the missing day", "Pacific/Apia", "2011-12-01T22:00:00-10:00", "2011-12-02T02:00:00-10:00", "2011-12-30T00:00:00Z", "2011-12-31T00:00:00Z", "30T08:00-30T10:00"},
		{"Casablanca, a fold before Ramadan", "Africa/Casablanca", "2026-01-01T02:30:00+01:00", "2026-01-01T04:00:00+01:00", "2026-02-15T00:00:00Z", "2026-02-15T12:00:00Z", "15T01:30-15T03:00"},
		{"Casablanca, in Ramadan", "Africa/Casablanca", "2026-01-01T02:30:00+01:00", "2026-01-01T04:00:00+01:00", "2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z", "01T02:30-01T04:00"},
		{"Casablanca, a gap after Ramadan", "Africa/Casablanca", "2026-01-01T02:30:00+01:00", "2026-01-01T04:00:00+01:00", "2026-03-22T00:00:00Z", "2026-03-22T12:00:00Z", "22T02:30-22T03:00"},
		{"UTC has no such night", "UTC", "2026-01-01T02:30:00Z", "2026-01-01T03:30:00Z", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", "29T02:30-29T03:30"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := windows("s", test.zone, period("w", test.start, test.end, "FREQ=DAILY"))
			got := openings(s, test.from, test.to)
			if len(got) > 1 || len(got) == 0 && test.want != "" || len(got) == 1 && got[0] != test.want {
				t.Errorf("open %v, want [%s]", got, test.want)
			}
		})
	}
}

// TestExclusionEndsLate checks that an exclusion ends at the later of two possible times in a
// night in which the clock changes.
func TestExclusionEndsLate(t *testing.T) {
	x := freeze("x", "", period("e", "2026-01-01T01:00:00+01:00", "2026-01-01T02:30:00+01:00", "FREQ=DAILY"))
	for now, until := range map[string]string{
		"2026-03-29T00:30:00Z": "2026-03-29T01:30:00Z", // the gap: moved forward
		"2026-10-24T23:30:00Z": "2026-10-25T01:30:00Z", // the fold: the second
	} {
		v := schedule.At(list(x), nil, "Patch", instant(now))
		if v.Reason != v1alpha1.ReasonExcluded || v.Until == nil || !v.Until.Equal(instant(until)) {
			t.Errorf("at %s: %s until %v, want %s", now, v.Reason, v.Until, until)
		}
	}
}

func TestRules(t *testing.T) {
	for rule, want := range map[string][]string{
		"FREQ=WEEKLY;INTERVAL=2;BYDAY=TU":               {"2026-09-01", "2026-09-15", "2026-09-29"},
		"FREQ=MONTHLY;BYMONTH=3,6,9,12;BYDAY=-1SU":      {"2026-09-27", "2026-12-27", "2027-03-28"},
		"FREQ=MONTHLY;BYDAY=MO,TU,WE;BYSETPOS=-1":       {"2026-09-30", "2026-10-28", "2026-11-30"},
		"FREQ=MONTHLY;BYMONTHDAY=31":                    {"2026-10-31", "2026-12-31", "2027-01-31"},
		"FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29":           {"2028-02-29", "2032-02-29"},
		"FREQ=DAILY;COUNT=3":                            {"2026-09-01", "2026-09-02", "2026-09-03"},
		"FREQ=DAILY;UNTIL=20260902T040000Z":             {"2026-09-01", "2026-09-02"},
		"FREQ=DAILY;UNTIL=20260902T035959Z":             {"2026-09-01"},
		"RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30":     nil,
		"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30":            nil,
		"FREQ=WEEKLY;BYDAY=SA;BYMONTH=10;WKST=SU":       {"2026-10-03", "2026-10-10"},
		"FREQ=MONTHLY;BYDAY=2TU;UNTIL=20261001T000000Z": {"2026-09-08"},
		"FREQ=MONTHLY;BYDAY=MO,1TU":                     {"2026-09-01", "2026-09-07", "2026-09-14"},
		"FREQ=YEARLY;BYDAY=-1SA,SU;BYMONTH=9,12":        {"2026-09-06", "2026-09-13", "2026-09-20", "2026-09-26"},
		"FREQ=YEARLY;BYDAY=-1TH,SU":                     {"2026-09-06", "2026-09-13"},
	} {
		t.Run(rule, func(t *testing.T) {
			s := windows("s", "UTC", period("w", "2026-09-01T04:00:00Z", "2026-09-01T05:00:00Z", rule))
			now := instant("2026-08-01T00:00:00Z")
			for i := 0; ; i++ {
				v := schedule.At(list(s), nil, "Patch", now)
				if v.Until == nil || i == len(want) {
					if i < len(want) {
						t.Errorf("only %d openings, want %v", i, want)
					}
					if v.Until != nil && len(want) < 2 {
						t.Errorf("opens once more at %s, want %v", v.Until, want)
					}
					return
				}
				if got := v.Until.Format("2006-01-02"); got != want[i] {
					t.Errorf("opening %d is %s, want %v", i, got, want)
				}
				now = v.Until.Add(time.Hour)
			}
		})
	}
}

// TestAnyRule checks that any rule is evaluated quickly, and that an exclusion opens nothing.
func TestAnyRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := "FREQ=" + rapid.SampledFrom([]string{"DAILY", "WEEKLY", "MONTHLY", "YEARLY", "HOURLY"}).Draw(t, "freq")
		for _, part := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{
			"INTERVAL=3", "INTERVAL=1000", "COUNT=4", "BYDAY=MO,TU", "BYDAY=5FR", "BYDAY=-1SU", "BYMONTHDAY=31", "BYMONTHDAY=-30",
			"BYMONTH=2", "BYMONTH=2,11", "BYSETPOS=2", "BYSETPOS=-366", "UNTIL=20270101T000000Z", "WKST=SU", "BYHOUR=3",
		}), func(s string) string { return s[:4] }).Draw(t, "parts") {
			rule += ";" + part
		}
		zone := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "Pacific/Apia", "Africa/Casablanca", "Australia/Lord_Howe"}).Draw(t, "zone")
		p := period("p", "2026-09-01T00:30:00Z", "2026-09-01T03:00:00Z", rule)
		now := instant("2026-08-01T00:00:00Z").Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "minute")) * time.Minute)
		began := time.Now()
		with := schedule.At(list(windows("s", zone, p)), nil, "Patch", now)
		if took := time.Since(began); took > 2*time.Second {
			t.Fatalf("%s took %s", rule, took)
		}
		x := freeze("x", "", period("x", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", ""))
		if !with.Open && schedule.At(list(windows("s", zone, p), x), nil, "Patch", now).Open {
			t.Fatalf("an exclusion opened %s at %s", rule, now)
		}
		if with.Until != nil && !with.Until.After(now) {
			t.Fatalf("%s at %s: until %s is not ahead", rule, now, with.Until)
		}
		if !with.Open && with.Until != nil && !schedule.At(list(windows("s", zone, p)), nil, "Patch", *with.Until).Open {
			t.Fatalf("%s at %s: got the next opening %s, at which it is closed", rule, now, with.Until)
		}
	})
}
