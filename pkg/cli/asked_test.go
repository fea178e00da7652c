package cli

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Each flag is compared with what the upgrade says, and only what differs is
// named.
func TestOnlyFlagsThatDifferKeepFromComingBack(t *testing.T) {
	at := time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	limit := intstr.Parse("20%")
	u := &v1alpha1.ClusterUpgrade{}
	u.Spec.StartTime = &metav1.Time{Time: at}
	u.Spec.IgnoreWindows, u.Spec.IgnoreChecks = true, []v1alpha1.IgnoredCheck{{ID: "bare-pod", Reason: "batch jobs"}, {ID: "single-replica"}}
	u.Spec.Strategy.MaxUnavailable, u.Spec.Strategy.Method = &limit, v1alpha1.MethodReboot
	all := []string{"--start-time", "--max-unavailable", "--method", "--ignore-schedule", "--ignore-check"}
	for name, row := range map[string]struct {
		given apply
		start *time.Time
		want  []string
	}{
		"as it was asked for": {apply{maxUnavailable: "20%", method: "Reboot", ignoreWindows: true, ignoreChecks: ignoring("single-replica", "bare-pod")}, &at, nil},
		"fewer checks":        {apply{maxUnavailable: "20%", method: "Reboot", ignoreWindows: true, ignoreChecks: ignoring("bare-pod")}, &at, nil},
		"given, and empty":    {apply{ignoreWindows: true}, nil, nil},
		"all else":            {apply{maxUnavailable: "2", method: "Restart", ignoreChecks: ignoring("bare-pod", "etcd-single")}, &later, all},
		"one":                 {apply{maxUnavailable: "2", method: "Reboot", ignoreWindows: true, ignoreChecks: ignoring("bare-pod")}, &at, all[1:2]},
	} {
		row.given.asked = all
		if got := row.given.otherwise(u, row.start); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q differ, want %q", name, got, row.want)
		}
		row.given.asked = nil
		if got := row.given.otherwise(u, row.start); len(got) > 0 {
			t.Errorf("%s: %q differ, though no flag was given", name, got)
		}
	}
}

func ignoring(ids ...string) (checks []v1alpha1.IgnoredCheck) {
	for _, id := range ids {
		checks = append(checks, v1alpha1.IgnoredCheck{ID: id})
	}
	return checks
}
