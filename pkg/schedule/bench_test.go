package schedule_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

var since2010 = windows("weekend", "Europe/Berlin", period("sunday-night", "2010-01-03T02:00:00+01:00", "2010-01-03T06:00:00+01:00", "FREQ=WEEKLY;BYDAY=SU"))

func BenchmarkAt(b *testing.B) {
	for name, now := range map[string]string{"closed": "2026-11-18T12:00:00Z", "open": "2026-11-22T02:00:00Z"} {
		b.Run(name, func(b *testing.B) {
			schedules, at := list(since2010), instant(now)
			b.ReportAllocs()
			for b.Loop() {
				schedule.At(schedules, nil, "Patch", at)
			}
		})
	}
}

func BenchmarkNext1(b *testing.B) {
	schedules, at := list(since2010), instant("2026-11-18T12:00:00Z")
	b.ReportAllocs()
	for b.Loop() {
		if next, err := schedule.Next(schedules, nil, "Patch", at, 1); err != nil || len(next) != 1 {
			b.Fatal(next, err)
		}
	}
}

// BenchmarkNextMany measures that the time is proportional to the number of openings.
func BenchmarkNextMany(b *testing.B) {
	var periods []v1alpha1.Period
	for i := range 64 {
		at := instant("2010-01-01T00:00:00Z").Add(time.Duration(i) * 20 * time.Minute)
		periods = append(periods, period("w"+strconv.Itoa(i), at.Format(time.RFC3339), at.Add(10*time.Minute).Format(time.RFC3339), "FREQ=DAILY"))
	}
	schedules, now := list(windows("many", "Europe/Berlin", periods...)), instant("2026-11-18T12:00:00Z")
	for _, n := range []int{500, 5000, 50000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				if next, err := schedule.Next(schedules, nil, "Patch", now, n); err != nil || len(next) != n {
					b.Fatal(len(next), err)
				}
			}
		})
	}
}

// worstRules are the slowest rules that a schedule may have.
var worstRules = map[string]string{
	"daily that never fits":            "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
	"weekly that never fits":           "FREQ=WEEKLY;BYMONTH=2;COUNT=999999;INTERVAL=1000;BYDAY=MO",
	"monthly that never fits":          "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
	"yearly that never fits":           "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
	"monthly, a place that is not":     "FREQ=MONTHLY;BYDAY=1MO;BYSETPOS=" + places(55),
	"yearly, a place that is not":      "FREQ=YEARLY;BYMONTH=1;BYSETPOS=" + places(55),
	"yearly, counted, many places":     "FREQ=YEARLY;COUNT=999999;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=" + places(48),
	"yearly, ordinals without the day": "FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=2;BYDAY=1MO,2MO,3MO,4MO,5MO,1TU,2TU,3TU,4TU,5TU,1WE,2WE,3WE,4WE,5WE,1TH,2TH,3TH,4TH,5TH,1FR,2FR,3FR,4FR,5FR,1SA,2SA,3SA,4SA,5SA,SU",
	"daily that never ends":            "FREQ=DAILY",
	"daily, counted from 1970":         "FREQ=DAILY;COUNT=999999",
	"yearly, every day of it":          "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU",
}

// TestWorstRules checks that each may be in a schedule, so that BenchmarkWorstRule measures it.
func TestWorstRules(t *testing.T) {
	for name, rule := range worstRules {
		if err := schedule.Check(&list(windows("s", "Europe/Berlin", period("w", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z", rule)))[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkWorstRule measures the slowest rules: none may take 50 ms.
func BenchmarkWorstRule(b *testing.B) {
	for name, rule := range worstRules {
		for length, end := range map[string]string{"a day": "1970-01-02T00:00:00Z", "a century": "2070-01-01T00:00:00Z"} {
			b.Run(name+" for "+length, func(b *testing.B) {
				schedules, at := list(windows("s", "Europe/Berlin", period("w", "1970-01-01T00:00:00Z", end, rule))), instant("2026-11-18T12:00:00Z")
				for b.Loop() {
					schedule.At(schedules, nil, "Patch", at)
				}
			})
		}
	}
}

// places is n places that a list of few days does not have.
func places(n int) string {
	var list []string
	for i := range n {
		list = append(list, strconv.Itoa(100+i))
	}
	return strings.Join(list, ",")
}
