package request

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestOnlyFlagsThatDifferConflict checks that only flags which differ from the upgrade are named.
func TestOnlyFlagsThatDifferConflict(t *testing.T) {
	at := time.Date(2026, 12, 24, 17, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	limit := intstr.Parse("20%")
	u := &v1alpha1.ClusterUpgrade{}
	u.Spec.StartTime = &metav1.Time{Time: at}
	u.Spec.WindowPolicy, u.Spec.IgnoreChecks = v1alpha1.WindowPolicyIgnore, []v1alpha1.IgnoredCheck{{ID: "bare-pod", Comment: "batch jobs"}, {ID: "single-replica"}}
	u.Spec.Strategy.MaxUnavailable, u.Spec.Strategy.Method = &limit, v1alpha1.MethodReboot
	inherited := intstr.Parse("2")
	u.Status.Strategy = v1alpha1.Strategy{Method: v1alpha1.MethodRestart, MaxUnavailable: &inherited} // what it says itself counts
	all := []string{"--start-time", "--max-unavailable", "--method", "--ignore-windows"}
	for name, row := range map[string]struct {
		given Upgrade
		start *time.Time
		want  []string
	}{
		"as it was created": {Upgrade{MaxUnavailable: "20%", Method: "Reboot", IgnoreWindows: true, IgnoreChecks: ignoring("single-replica", "bare-pod")}, &at, nil},
		"fewer checks":      {Upgrade{MaxUnavailable: "20%", Method: "Reboot", IgnoreWindows: true, IgnoreChecks: ignoring("bare-pod")}, &at, nil},
		"given, and empty":  {Upgrade{IgnoreWindows: true}, nil, nil},
		"all else":          {Upgrade{MaxUnavailable: "2", Method: "Restart", IgnoreChecks: ignoring("bare-pod", "etcd-single")}, &later, all},
		"one":               {Upgrade{MaxUnavailable: "2", Method: "Reboot", IgnoreWindows: true, IgnoreChecks: ignoring("bare-pod")}, &at, all[1:2]},
	} {
		row.given.Flags = all
		row.given.StartTime = row.start
		if got := row.given.conflicts(u); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q differ, want %q", name, got, row.want)
		}
		row.given.Flags = nil
		if got := row.given.conflicts(u); len(got) > 0 {
			t.Errorf("%s: got differing flags %q without any flag", name, got)
		}
	}
}

// TestIgnored checks what an upgrade that exists is to ignore, too.
func TestIgnored(t *testing.T) {
	u := &v1alpha1.ClusterUpgrade{}
	u.Spec.IgnoreChecks = []v1alpha1.IgnoredCheck{{ID: "bare-pod", Comment: "batch jobs", By: "ann"}}
	given := Upgrade{IgnoreChecks: []v1alpha1.IgnoredCheck{{ID: "bare-pod", Comment: "x"}, {ID: "etcd-single", Comment: "known"}},
		IgnoreGates: []v1alpha1.IgnoredGate{{Name: "alerts", Comment: "noise"}}, IgnoreWindows: true}
	more := given.Ignores(u)
	if got, want := more.String(), "the gate alerts, the check etcd-single and maintenance windows"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := more.Flags(), []string{"--ignore-check", "--ignore-gate", "--ignore-windows"}; !slices.Equal(got, want) {
		t.Errorf("got the flags %q, want %q", got, want)
	}
	fields := more.AddTo(u, "bob")
	checks := u.Spec.IgnoreChecks
	if len(fields) != 3 || !u.Spec.IgnoresWindows() || len(checks) != 2 || checks[0].By != "ann" || checks[1].By != "bob" || u.Spec.IgnoreGates[0].By != "bob" {
		t.Errorf("got the fields %v and the spec %+v", fields, u.Spec)
	}
	if more := given.Ignores(u); !more.IsNone() || more.String() != "" || len(more.AddTo(u, "bob")) != 0 {
		t.Errorf("it is to ignore %s again", more)
	}
}

// TestFlagsEqualToPolicyDoNotConflict checks that a flag may repeat the policy's value.
func TestFlagsEqualToPolicyDoNotConflict(t *testing.T) {
	limit := intstr.Parse("2")
	u := &v1alpha1.ClusterUpgrade{}
	u.Status.Strategy = v1alpha1.Strategy{Method: v1alpha1.MethodRestart, MaxUnavailable: &limit}
	given := Upgrade{MaxUnavailable: "2", Method: "Restart", Flags: []string{"--max-unavailable", "--method"}}
	if got := given.conflicts(u); len(got) > 0 {
		t.Errorf("%q differ", got)
	}
	given.Method = "Reboot"
	if got := given.conflicts(u); !slices.Equal(got, []string{"--method"}) {
		t.Errorf("%q differ, want --method", got)
	}
}

func ignoring(ids ...string) (checks []v1alpha1.IgnoredCheck) {
	for _, id := range ids {
		checks = append(checks, v1alpha1.IgnoredCheck{ID: id})
	}
	return checks
}
