package machine

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestActivationOfNothing checks that a node whose order is gone while its image is activated reboots only
// if the symlink has been changed.
func TestActivationOfNothing(t *testing.T) {
	now := time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	for active, want := range map[string]v1alpha1.Step{newVersion: v1alpha1.StepRebooting, oldVersion: v1alpha1.StepAborting} {
		o := Observation{
			Now: now, WatchingSince: now, Managed: true,
			Node: Node{Ready: true, Unschedulable: true, OurCordon: true, SlotMark: "slot-0", KubeletVersion: oldVersion, BootID: "boot-0"},
			Slot: Slot{Held: "slot-0"},
			Host: &Host{At: now, HostFacts: verb.HostFacts{BootID: "boot-0", Active: active, Merged: oldVersion, Installed: []string{oldVersion, newVersion}}},
		}
		s := State{Upgrade: v1alpha1.UpgradeReference{Name: "u", UID: "1"}, Step: v1alpha1.StepActivating, Since: now, Method: v1alpha1.MethodReboot, RebootedFrom: "boot-0"}
		for range 4 {
			next, a := Next(s, o)
			if s = next; a.Do != DoNothing {
				break
			}
		}
		if s.Step != want {
			t.Errorf("the symlink points to %s: got step %s, want %s", active, s.Step, want)
		}
	}
}
