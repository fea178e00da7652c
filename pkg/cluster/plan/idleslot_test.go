package plan_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// TestIdleNodeFreesItsSlot checks that the release of a node which is up to date, and has only its slot left to
// free, is not withdrawn before it has, whatever holds other nodes.
func TestIdleNodeFreesItsSlot(t *testing.T) {
	s, play := newStory(t)
	play("node w1 v1.34.3", "upgrade r type=Reboot ignore", "os w1 asks", "tick 1")
	status := &s.nodeUpgrade("w1", s.Nodes[0].UID).Status
	for range 20 {
		if s.step(); status.Step == v1alpha1.StepUnlocking {
			break
		}
	}
	if status.Step != v1alpha1.StepUnlocking {
		t.Fatalf("w1 is in the step %s", status.Step)
	}
	status.Step = v1alpha1.StepIdle
	s.Upgrades[0].Spec.Suspend = true
	if n := s.decide().Nodes[0]; n.Decision != plan.Go || n.Spec.Release != v1alpha1.ReleaseNode {
		t.Errorf("with the slot: %v, %s (%s): %s", n.Decision, n.Spec.Release, n.Reason, n.Message)
	}
	s.free(&s.Nodes[0])
	if n := s.decide().Nodes[0]; n.Decision != plan.Done || n.Spec.Release != v1alpha1.ReleaseNone {
		t.Errorf("without it: %v, %s (%s): %s", n.Decision, n.Spec.Release, n.Reason, n.Message)
	}
}
