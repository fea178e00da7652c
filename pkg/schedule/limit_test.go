package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// TestClusterLimit checks that the cost of all schedules together is bounded, whichever rules
// they have: what is over the limit closes the windows, is named, and is evaluated quickly.
func TestClusterLimit(t *testing.T) {
	at := instant("2026-11-18T12:00:00Z")
	many := func(n, each int, end, rule string) []v1alpha1.MaintenanceSchedule {
		var all []v1alpha1.MaintenanceSchedule
		for i := range n {
			var periods []v1alpha1.Period
			for j := range each {
				periods = append(periods, period(fmt.Sprint("w", j), "1970-01-01T00:00:00Z", end, rule))
			}
			s := windows(fmt.Sprintf("s%03d", n-i), "Europe/Berlin", periods...)
			s.CreationTimestamp = metav1.NewTime(at.Add(time.Duration(i) * time.Minute))
			all = append(all, s)
		}
		return all
	}
	const day, century = "1970-01-02T00:00:00Z", "2070-01-01T00:00:00Z"
	for _, test := range []struct {
		name, end, rule string
		n, each         int
		over            string // the first that is
	}{
		{"a hundred small ones", day, "FREQ=WEEKLY", 100, 8, ""},
		{"a thousand", day, "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", 100, 64, "s085"},
		{"counted", day, "FREQ=DAILY;COUNT=1000000", 100, 64, "s100"},
		{"places", day, "FREQ=MONTHLY;BYDAY=1MO;BYSETPOS=100", 20, 8, "s013"},
		{"a century", century, "FREQ=DAILY", 40, 4, "s025"},
	} {
		all := many(test.n, test.each, test.end, test.rule)
		over := schedule.Excess(all)
		began := time.Now()
		verdict := schedule.At(all, nil, "Patch", at)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: takes %s", test.name, took)
		}
		if test.over == "" {
			if len(over) > 0 || verdict.Reason == v1alpha1.ReasonScheduleInvalid {
				t.Errorf("%s: %v, %+v", test.name, over, verdict)
			}
			continue
		}
		if over[test.over] == nil || verdict.Open || verdict.Reason != v1alpha1.ReasonScheduleInvalid || !strings.Contains(verdict.Message, "schedule "+test.over+": ") {
			t.Errorf("%s: %+v, want %s to be the first of %d over the limit", test.name, verdict, test.over, len(over))
		}
		if _, oldest := over[all[0].Name]; oldest && test.over != all[0].Name {
			t.Errorf("%s: the oldest is over the limit", test.name)
		}
	}
}
