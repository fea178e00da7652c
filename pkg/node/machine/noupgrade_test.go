package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestStateOfDeletedUpgradeIsCleared checks that the status drops an upgrade that is over,
// but not while the node holds a slot.
func TestStateOfDeletedUpgradeIsCleared(t *testing.T) {
	since := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	s, o := atLastCheck(since)
	s = State{
		Upgrade: s.Upgrade, From: oldVersion, Step: v1alpha1.StepIdle, Since: since, Attempts: 2, Failures: 1, RebootedFrom: "boot-0",
		Snapshot: &v1alpha1.EtcdSnapshot{}, Method: v1alpha1.MethodReboot, MethodMessage: "why", Steps: []StepTime{{Step: v1alpha1.StepLocking}},
	}
	o.Node, o.Slot = Node{Ready: true}, Slot{}
	o.Spec = v1alpha1.NodeUpgradeSpec{}
	want := State{Step: v1alpha1.StepIdle, Since: since, Reason: v1alpha1.ReasonNoUpgrade, Message: "no upgrade is requested"}
	got, _ := Next(s, o)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state in service (-want +got):\n%s", diff)
	}
	o.Host.HasFiles, o.Slot.Held = true, "slot-0"
	if got, _ := Next(s, o); got.Upgrade != s.Upgrade {
		t.Errorf("the state was cleared while the node holds a slot: %+v", got)
	}
}
