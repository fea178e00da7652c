package coordinator

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestProgressWaits checks that a status in which only the progress differs is written once in a while, and
// any other at once.
func TestProgressWaits(t *testing.T) {
	at := func(step v1alpha1.Step, done int32, reason, message string) v1alpha1.ClusterUpgradeStatus {
		return v1alpha1.ClusterUpgradeStatus{
			Nodes:      v1alpha1.NodeCounts{Done: done},
			Active:     []v1alpha1.NodeNote{{Name: "w1", Step: step}},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: reason, Message: message}},
		}
	}
	began := time.Date(2026, 11, 27, 18, 0, 0, 0, time.UTC)
	var p progress
	for _, test := range []struct {
		what   string
		after  time.Duration
		wanted v1alpha1.ClusterUpgradeStatus
		waits  bool
		fails  bool // the write, if it does not wait
	}{
		{"the first", 0, at(v1alpha1.StepDraining, 0, "Released", "w1"), false, false},
		{"another step", progressEvery / 2, at(v1alpha1.StepRebooting, 0, "Released", "w1"), true, false},
		{"a node is done", progressEvery / 2, at(v1alpha1.StepRebooting, 1, "Released", "w1"), true, false},
		{"another message", progressEvery / 2, at(v1alpha1.StepRebooting, 1, "Released", "w2"), true, false},
		{"another reason", progressEvery / 2, at(v1alpha1.StepRebooting, 1, "NodeFailed", "w1"), false, false},
		{"another step again", progressEvery, at(v1alpha1.StepVerifying, 0, "Released", "w1"), true, false},
		{"later, and refused", 2 * progressEvery, at(v1alpha1.StepVerifying, 0, "Released", "w1"), false, true},
		{"again", 2 * progressEvery, at(v1alpha1.StepVerifying, 0, "Released", "w1"), false, false},
		{"a clock that was set back", -time.Hour, at(v1alpha1.StepVerifying, 0, "Released", "w1"), false, false},
	} {
		p.now, p.due = began.Add(test.after), nil
		only := sameButProgress(at(v1alpha1.StepLocking, 0, "Released", "w1"), test.wanted)
		got := p.waits("u", only)
		if got != test.waits || got != (p.due != nil) {
			t.Errorf("%s: waits: %v, due %v, want %v", test.what, got, p.due, test.waits)
		}
		if !got && !test.fails {
			p.wrote("u")
		}
	}
}

// TestSameButBehind checks that the number of nodes which do not run the newest version yet is progress, and
// nothing else of the policy's status.
func TestSameButBehind(t *testing.T) {
	status := func(behind int32, versions ...string) (s v1alpha1.UpgradePolicyStatus) {
		for _, v := range versions {
			s.Ran = append(s.Ran, v1alpha1.RanVersion{Version: v, Behind: behind})
		}
		return s
	}
	was := status(3, "v1.34.4")
	for name, test := range map[string]struct {
		wanted v1alpha1.UpgradePolicyStatus
		same   bool
	}{
		"fewer":           {status(2, "v1.34.4"), true},
		"none any more":   {status(0, "v1.34.4"), false},
		"another version": {status(3, "v1.34.5", "v1.34.4"), false},
		"no version":      {status(0), false},
	} {
		if got := sameButBehind(was, test.wanted); got != test.same || was.Ran[0].Behind != 3 {
			t.Errorf("%s: got %v, want %v", name, got, test.same)
		}
	}
}
