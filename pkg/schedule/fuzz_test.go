package schedule_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// FuzzSchedule checks that any schedule is evaluated quickly, and that an invalid one is closed.
func FuzzSchedule(f *testing.F) {
	for _, rule := range []string{
		"", "FREQ=WEEKLY;BYDAY=SA,SU", "RRULE:FREQ=MONTHLY;BYDAY=2TU,-1FR;BYSETPOS=-1", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
		"FREQ=DAILY;COUNT=3", "FREQ=DAILY;UNTIL=20270101T000000Z", "FREQ=YEARLY;BYMONTH=12;BYDAY=53MO", "FREQ=HOURLY;INTERVAL=2;BYHOUR=3",
		"FREQ=YEARLY;INTERVAL=1000;BYDAY=MO,-53SU;BYSETPOS=366", "FREQ=DAILY;INTERVAL=7;BYMONTH=2;BYMONTHDAY=30;WKST=SU",
	} {
		f.Add(rule, "Europe/Berlin", "2026-01-04T02:00:00+01:00", "2026-01-04T06:00:00+01:00", "Minor", "pool", "In", "gpu", "2026-11-21T12:00:00Z")
		f.Add(rule, "Pacific/Apia", "1970-01-01T00:00:00Z", "2999-01-01T00:00:00.5Z", "", "", "Exists", "", "9999-12-31T23:59:59Z")
		f.Add(rule, "Local", "2999-12-31T00:00:00-10:00", "9999-12-31T23:59:59Z", "x", "a/b", "Near", "", "0000-01-01T00:00:00Z")
	}
	f.Fuzz(func(t *testing.T, rule, zone, start, end, kind, key, operator, value, at string) {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return
		}
		p := v1alpha1.Period{Name: "p", Recurrence: rule}
		if p.StartTime.Time, err = time.Parse(time.RFC3339, start); err != nil {
			return
		}
		if p.EndTime.Time, err = time.Parse(time.RFC3339, end); err != nil {
			return
		}
		s := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
		s.Spec.TimeZone = zone
		s.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelRequirement{
			{Key: key, Operator: v1alpha1.LabelOperator(operator), Values: []v1alpha1.LabelValue{v1alpha1.LabelValue(value)}},
		}}
		s.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Period: p}}
		s.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: p, UpgradeTypes: []v1alpha1.UpgradeType{v1alpha1.UpgradeType(kind)}}}
		answer(t, s, map[string]string{key: value}, now)
		s.Spec.MaintenanceExclusions = nil
		answer(t, s, map[string]string{key: value}, now)
	})
}

func answer(t *testing.T, s v1alpha1.MaintenanceSchedule, labels map[string]string, now time.Time) {
	began := time.Now()
	v := schedule.At(list(s), labels, "Patch", now)
	next, err := schedule.Next(list(s), labels, "Patch", now, 3)
	schedule.Lint(s, now)
	schedule.State(&s, now)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	invalid := schedule.Check(&s)
	if (err == nil) != (invalid == nil) || invalid != nil && (v.Open || v.Reason != v1alpha1.ReasonScheduleInvalid) {
		t.Errorf("Check says %v, Next %v, At %+v", invalid, err, v)
	}
	if v.Open && (len(next) == 0 || !next[0].Start.Equal(now)) {
		t.Errorf("open at %s, and the next opening is %v", now, next)
	}
	if !v.Open && len(next) > 0 && !next[0].Start.After(now) {
		t.Errorf("closed at %s, and the next opening is %v", now, next)
	}
}
