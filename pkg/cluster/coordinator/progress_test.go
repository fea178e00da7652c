package coordinator

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestProgressWaits checks that a status in which only the active nodes' steps differ is written once a
// second, and any other at once.
func TestProgressWaits(t *testing.T) {
	at := func(step v1alpha1.Step, progress string) v1alpha1.ClusterUpgradeStatus {
		return v1alpha1.ClusterUpgradeStatus{Progress: progress, Active: []v1alpha1.NodeNote{{Name: "w1", Step: step}}}
	}
	began := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC)
	var p progress
	for _, test := range []struct {
		what   string
		after  time.Duration
		wanted v1alpha1.ClusterUpgradeStatus
		waits  bool
	}{
		{"the first", 0, at(v1alpha1.StepDraining, "0/2"), false},
		{"another step", progressEvery / 2, at(v1alpha1.StepRebooting, "0/2"), true},
		{"a node is done", progressEvery / 2, at(v1alpha1.StepRebooting, "1/2"), false},
		{"another step again", progressEvery, at(v1alpha1.StepVerifying, "0/2"), true},
		{"a second later", 2 * progressEvery, at(v1alpha1.StepVerifying, "0/2"), false},
		{"a clock that was set back", -time.Hour, at(v1alpha1.StepVerifying, "0/2"), false},
	} {
		p.now, p.due = began.Add(test.after), nil
		if got := p.waits("u", at(v1alpha1.StepLocking, "0/2"), test.wanted); got != test.waits || got != (p.due != nil) {
			t.Errorf("%s: waits: %v, due %v, want %v", test.what, got, p.due, test.waits)
		}
	}
}
