package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// walk returns a node that went through steps of ten seconds each from an instant on; the
// last has not ended.
func walk(name string, from time.Time, steps ...v1alpha1.Step) v1alpha1.NodeUpgrade {
	u := v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	for i, step := range steps {
		one := v1alpha1.StepTime{Step: step, StartTime: metav1.NewMicroTime(from)}
		from = from.Add(10 * time.Second)
		if i < len(steps)-1 {
			end := metav1.NewMicroTime(from)
			one.EndTime = &end
		}
		u.Status.Steps = append(u.Status.Steps, one)
	}
	return u
}

// TestBootsAreCountedOnce checks that a rehearsed boot is counted when its outcome is known, once for each attempt, and not
// if it was before this replica led.
func TestBootsAreCountedOnce(t *testing.T) {
	m := newMetrics()
	m.Lead()
	see := func(attempt int32, boot v1alpha1.BootResult) {
		u := walk("w1", now, v1alpha1.StepSettling)
		u.Status.Upgrade, u.Status.Retry.Attempts = &v1alpha1.UpgradeReference{Name: "u", UID: "u"}, attempt
		u.Status.Rehearsal = &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed, Boot: boot}
		m.Planned(metrics.State{Snapshot: clusterstate.Snapshot{NodeUpgrades: []v1alpha1.NodeUpgrade{u}}}, now)
	}
	see(1, v1alpha1.BootDown)
	see(2, "")
	see(2, v1alpha1.BootAssisted)
	see(2, v1alpha1.BootAssisted)
	see(3, v1alpha1.BootAssisted)
	series, _ := scrape(t, m)
	got := slices.DeleteFunc(series, func(s string) bool { return !strings.Contains(s, "rehearsed_boots") || strings.HasSuffix(s, " 0") })
	if want := []string{`kubectl_upgrade_rehearsed_boots_total{boot="Assisted",rehearsal="Passed"} 2`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStepsAreCountedOnce checks that each step is counted when it ends, once, and not if
// it ended before this replica led.
func TestStepsAreCountedOnce(t *testing.T) {
	m := newMetrics()
	m.Lead()
	see := func(nodes ...v1alpha1.NodeUpgrade) {
		m.Planned(metrics.State{Snapshot: clusterstate.Snapshot{NodeUpgrades: nodes}}, now)
	}
	whole := []v1alpha1.Step{v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking, v1alpha1.StepIdle}
	see(walk("w0", now.Add(-time.Hour), whole...), walk("w1", now, whole[:2]...))
	see(walk("w1", now, whole[:3]...))
	see(walk("w1", now, whole[:3]...))
	see(walk("w1", now, whole...))
	see(walk("w1", now, whole...), walk("w2", now.Add(42*time.Second), whole[:3]...), walk("w3", now, "Dreaming", v1alpha1.StepIdle))
	series, _ := scrape(t, m)
	for _, want := range []string{
		`kubectl_upgrade_step_duration_seconds_count{step="Locking"} 1`, // w1's had ended before
		`kubectl_upgrade_step_duration_seconds_count{step="Cordoning"} 2`,
		`kubectl_upgrade_step_duration_seconds_sum{step="Cordoning"} 20`,
		`kubectl_upgrade_step_duration_seconds_count{step="Draining"} 1`,
		`kubectl_upgrade_step_duration_seconds_count{step="Uncordoning"} 1`,
		`kubectl_upgrade_step_duration_seconds_count{step="Other"} 1`,
		`kubectl_upgrade_hand_off_duration_seconds_count 1`,
		`kubectl_upgrade_hand_off_duration_seconds_sum 12`, // from 40 s to 52 s
	} {
		if !slices.Contains(series, want) {
			t.Errorf("no %s in\n%s", want, strings.Join(slices.DeleteFunc(series, func(s string) bool {
				return !strings.Contains(s, "_duration_seconds_") || strings.Contains(s, "bucket")
			}), "\n"))
		}
	}
}
