package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestLoosenedDrain changes the drain of an upgrade while a node drains. What only loosens it is handed on to that node,
// field by field, and nothing else.
func TestLoosenedDrain(t *testing.T) {
	rule := func(app string, behavior v1alpha1.DrainBehavior) v1alpha1.DrainRule {
		return v1alpha1.DrainRule{Name: app + string(behavior), Behavior: behavior, PodSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": v1alpha1.LabelValue(app)}}}
	}
	const waits, skips, drains = v1alpha1.DrainWaitCompleted, v1alpha1.DrainSkip, v1alpha1.DrainPod
	rules := func(list ...v1alpha1.DrainRule) v1alpha1.Drain { return v1alpha1.Drain{Rules: list} }
	seconds := ptr.To[int32]
	for name, one := range map[string]struct {
		from, to v1alpha1.Drain
		loosens  bool
	}{
		"unmanaged pods":              {v1alpha1.Drain{}, v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsEvict}, true},
		"unmanaged pods block":        {v1alpha1.Drain{UnmanagedPods: v1alpha1.PodsEvict}, v1alpha1.Drain{}, false},
		"emptyDir":                    {v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsBlock}, v1alpha1.Drain{}, true},
		"emptyDir blocks":             {v1alpha1.Drain{}, v1alpha1.Drain{EmptyDirPods: v1alpha1.PodsBlock}, false},
		"deletes":                     {v1alpha1.Drain{}, v1alpha1.Drain{OnTimeout: v1alpha1.OnTimeoutDelete}, true},
		"aborts":                      {v1alpha1.Drain{OnTimeout: v1alpha1.OnTimeoutDelete}, v1alpha1.Drain{}, false},
		"more time":                   {v1alpha1.Drain{}, v1alpha1.Drain{TimeoutSeconds: seconds(3600)}, true},
		"less time":                   {v1alpha1.Drain{}, v1alpha1.Drain{TimeoutSeconds: seconds(60)}, false},
		"volumes sooner":              {v1alpha1.Drain{VolumesDetachedSeconds: seconds(600)}, v1alpha1.Drain{VolumesDetachedSeconds: seconds(60)}, true},
		"volumes later":               {v1alpha1.Drain{}, v1alpha1.Drain{VolumesDetachedSeconds: seconds(60)}, false},
		"less grace":                  {v1alpha1.Drain{GracePeriodSeconds: seconds(60)}, v1alpha1.Drain{GracePeriodSeconds: seconds(30)}, true},
		"no grace":                    {v1alpha1.Drain{}, v1alpha1.Drain{GracePeriodSeconds: seconds(0)}, true},
		"other grace than its own":    {v1alpha1.Drain{}, v1alpha1.Drain{GracePeriodSeconds: seconds(30)}, false},
		"its own grace":               {v1alpha1.Drain{GracePeriodSeconds: seconds(30)}, v1alpha1.Drain{}, false},
		"skips more":                  {v1alpha1.Drain{}, rules(rule("db", skips)), true},
		"skips before":                {rules(rule("db", waits), rule("web", drains)), rules(rule("log", skips), rule("db", waits), rule("web", drains)), true},
		"waits no more":               {rules(rule("db", waits), rule("web", waits)), rules(rule("web", waits)), true},
		"waits for none":              {rules(rule("db", waits)), v1alpha1.Drain{Rules: []v1alpha1.DrainRule{}}, true},
		"drains instead of waiting":   {rules(rule("db", waits)), rules(rule("db", drains)), true},
		"skips instead of draining":   {rules(rule("db", drains), rule("web", waits)), rules(rule("db", skips), rule("web", waits)), true},
		"waits":                       {v1alpha1.Drain{}, rules(rule("db", waits)), false},
		"waits instead of draining":   {rules(rule("db", drains)), rules(rule("db", waits)), false},
		"skips less":                  {rules(rule("db", skips)), v1alpha1.Drain{Rules: []v1alpha1.DrainRule{}}, false},
		"drains no more, then waits":  {rules(rule("db", drains), rule("web", waits)), rules(rule("web", waits)), false},
		"in another order":            {rules(rule("db", drains), rule("web", waits)), rules(rule("web", waits), rule("db", drains)), false},
		"drains before what it skips": {rules(rule("db", skips)), rules(rule("web", drains), rule("db", skips)), false},
	} {
		s, play := newStory(t)
		play("node w1 v1.34.3", "upgrade r type=Reboot ignore", "os w1 asks")
		s.upgrade("r").Spec.Strategy.Drain = one.from
		play("tick 4")
		for _, step := range []v1alpha1.Step{v1alpha1.StepDraining, v1alpha1.StepLastCheck} {
			s.upgrade("r").Spec.Strategy.Drain = one.from
			status := &s.nodeUpgrade("w1", "u-w1").Status
			if status.Step != step {
				t.Fatalf("%s: w1 is in %s", name, status.Step)
			}
			before := s.nodeUpgrade("w1", "u-w1").Spec.Drain
			s.upgrade("r").Spec.Strategy.Drain = one.to
			want := before
			if one.loosens && step == v1alpha1.StepDraining {
				want = one.to.Or(v1alpha1.DefaultStrategy().Drain)
			}
			if diff := cmp.Diff(want, plan.Decide(s.Snapshot, s.now).Nodes[0].Spec.Drain); diff != "" {
				t.Errorf("%s, in %s (-want +got):\n%s", name, step, diff)
			}
			s.upgrade("r").Spec.Strategy.Drain = one.from
			play("tick 1")
		}
	}
}

// TestLoosenedWhole changes what the nodes of an upgrade have to have again, while one of them waits for it or has failed.
func TestLoosenedWhole(t *testing.T) {
	seconds := ptr.To[int32]
	for name, one := range map[string]struct {
		from, to, want v1alpha1.Whole
	}{
		"a part is ignored":    {v1alpha1.Whole{}, v1alpha1.Whole{Resources: v1alpha1.PartIgnore}, v1alpha1.Whole{Resources: v1alpha1.PartIgnore}},
		"another one, too":     {v1alpha1.Whole{Drivers: v1alpha1.PartIgnore}, v1alpha1.Whole{Network: v1alpha1.PartIgnore}, v1alpha1.Whole{Drivers: v1alpha1.PartIgnore, Network: v1alpha1.PartIgnore}},
		"a part is waited for": {v1alpha1.Whole{Taints: v1alpha1.PartIgnore}, v1alpha1.Whole{}, v1alpha1.Whole{Taints: v1alpha1.PartIgnore}},
		"more time":            {v1alpha1.Whole{}, v1alpha1.Whole{TimeoutSeconds: seconds(900)}, v1alpha1.Whole{TimeoutSeconds: seconds(900)}},
		"less time":            {v1alpha1.Whole{}, v1alpha1.Whole{TimeoutSeconds: seconds(60)}, v1alpha1.Whole{}},
	} {
		s, play := newStory(t)
		play("node w1 v1.34.3", "upgrade r type=Reboot ignore", "os w1 asks")
		s.upgrade("r").Spec.Strategy.Whole = one.from
		play("tick 4")
		for _, step := range []v1alpha1.Step{v1alpha1.StepSettling, v1alpha1.StepFailed} {
			s.nodeUpgrade("w1", "u-w1").Status.Step = step
			s.upgrade("r").Spec.Strategy.Whole = one.to
			want := one.want.Or(v1alpha1.DefaultStrategy().Whole)
			if diff := cmp.Diff(want, plan.Decide(s.Snapshot, s.now).Nodes[0].Spec.Whole); diff != "" {
				t.Errorf("%s, in %s (-want +got):\n%s", name, step, diff)
			}
		}
	}
}
