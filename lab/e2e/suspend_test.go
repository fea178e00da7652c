//go:build e2e

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// suspend waits for the next window, in which w4 and w5 begin by themselves, and suspends the
// upgrade when w4 is past its last check and w5, whose pod ends slowly, is draining.
func (r *rollout) suspend(t *testing.T) {
	r.awaitStatus(t, v1alpha1.ReasonDraining, "slow-w5", "w5")
	r.eventually(t, 5*time.Minute, "w4 is past its last check", func() error { return r.pastLastCheck("w4") })
	t.Log(r.must(t)(r.Upgrade(r.ctx, "suspend", upgradeName)))
	r.awaitStatus(t, v1alpha1.ReasonSuspended, upgradeName, "w5")
	r.eventually(t, time.Minute, "w5 has aborted", func() error { return r.at("w5", v1alpha1.StepWaiting) })
	r.checkInService(t, "w5")
	r.eventually(t, 5*time.Minute, "w4 finishes", func() error { return r.done("w4") })
	r.awaitUpgradeStatus(t, v1alpha1.ReasonSuspended)
	r.checkNothingBegins(t, 5*time.Second)
	if err := r.KillSlow(r.ctx, "w5"); err != nil {
		t.Fatal(err)
	}
	t.Log(r.must(t)(r.Upgrade(r.ctx, "resume", upgradeName)))
}

// longest returns how long the slowest of the nodes held its slot.
func (r *rollout) longest(t *testing.T, names ...string) (longest time.Duration) {
	t.Helper()
	for _, name := range names {
		longest = max(longest, r.began(t, name, v1alpha1.StepUnlocking).Sub(r.began(t, name, v1alpha1.StepLocking)))
	}
	return longest
}

// checkAcross checks that a node's last check was before end, and its uncordon after it.
func (r *rollout) checkAcross(t *testing.T, name string, end time.Time) {
	t.Helper()
	check, uncordon := r.began(t, name, v1alpha1.StepActivating), r.began(t, name, v1alpha1.StepUncordoning)
	if !check.Before(end) || !uncordon.After(end) {
		t.Errorf("the window ended %s, not between the last check of %s (%s) and its uncordon (%s)", end, name, check, uncordon)
	}
	t.Logf("%s passed its last check %s before the window's end, and was uncordoned %s after it", name,
		end.Sub(check).Round(100*time.Millisecond), uncordon.Sub(end).Round(100*time.Millisecond))
}

// began returns when a node was last at a step. A node has steps only until the upgrade ends.
func (r *rollout) began(t *testing.T, name string, step v1alpha1.Step) (at time.Time) {
	t.Helper()
	node, err := r.ours.NodeUpgrades.Get(r.ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range node.Status.Steps {
		if s.Step == step {
			at = s.StartTime.Time
		}
	}
	if at.IsZero() {
		t.Fatalf("%s was never at %s", name, step)
	}
	return at
}
