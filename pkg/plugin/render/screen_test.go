package render

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// TestWithoutUpgradeNodesAreIdle checks that no node counts as done while there is no
// upgrade.
func TestWithoutUpgradeNodesAreIdle(t *testing.T) {
	s := view.Status{Nodes: []view.Node{{Name: "a", State: view.StateDone}, {Name: "b", State: view.StateDone}}}
	if got := count(s); got != "2: 2 idle" {
		t.Errorf("without an upgrade: got %q", got)
	}
	s.Upgrade = &view.Upgrade{Name: "u"}
	if got := count(s); got != "2: 2 done" {
		t.Errorf("with an upgrade: got %q", got)
	}
	s.Nodes = append(s.Nodes, view.Node{Name: "c", State: view.StateActive}, view.Node{Name: "d", State: view.StateDone, Reason: v1alpha1.ReasonNoUpgrade})
	if got := count(s); got != "4: 2 done, 1 active, 1 idle" {
		t.Errorf("with an upgrade of others: got %q", got)
	}
}

// TestHoldHintHasNames checks that the command that removes a hold can be copied, unless
// there are too many nodes to name.
func TestHoldHintHasNames(t *testing.T) {
	for names, want := range map[string]string{
		"a":       "`kubectl label node a kubectl-upgrade.dev/hold-` removes the hold",
		"a b c":   "`kubectl label node a b c kubectl-upgrade.dev/hold-` removes the hold",
		"a b c d": "`kubectl label node NODE kubectl-upgrade.dev/hold-` removes the hold",
	} {
		if got := releaseHint(strings.Fields(names)...); got != want {
			t.Errorf("%s: got %s", names, got)
		}
	}
}

// TestCodeIsNotRepeated checks that a node's reason has no code that its step or its
// sentence says already.
func TestCodeIsNotRepeated(t *testing.T) {
	o := Options{Now: time.Unix(0, 0), Zone: time.UTC}
	for want, n := range map[string]view.Node{
		"2 pods are terminating":               {Step: v1alpha1.StepDraining, Reason: v1alpha1.ReasonDraining, Message: "2 pods are terminating"},
		"DrainBlocked: 2 pods remain":          {Step: v1alpha1.StepDraining, Reason: v1alpha1.ReasonDrainBlocked, Message: "2 pods remain"},
		"the coordinator released the node":    {Step: v1alpha1.StepWaiting, Reason: v1alpha1.ReasonReleased, Message: "the coordinator released the node"},
		"the node runs v1.34.4":                {Step: v1alpha1.StepIdle, Reason: v1alpha1.ReasonUpToDate, Message: "the node runs v1.34.4"},
		"NotStaged: the image is not here yet": {Step: v1alpha1.StepStaging, Reason: v1alpha1.ReasonNotStaged, Message: "the image is not here yet"},
	} {
		if got := nodeWhy(n, o); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
