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

// A minor comes back to the upgrade to its newest patch, and not to one to a
// pre-release, which is asked for by its full name.
func TestMinorIsNoPreRelease(t *testing.T) {
	var upgrades []v1alpha1.ClusterUpgrade
	for _, version := range []string{"v1.35.3", "v1.35.4-rc.0"} {
		upgrades = append(upgrades, v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: version}, Spec: v1alpha1.ClusterUpgradeSpec{Version: version}})
	}
	if u := ofMinor(upgrades, "v1.35", false); u == nil || u.Name != "v1.35.3" {
		t.Errorf("%+v", u)
	}
	if u := ofMinor(upgrades[1:], "v1.35", false); u != nil {
		t.Errorf("%+v", u)
	}
}

func ignoring(ids ...string) (checks []v1alpha1.IgnoredCheck) {
	for _, id := range ids {
		checks = append(checks, v1alpha1.IgnoredCheck{ID: id})
	}
	return checks
}
