package machine

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestGuardOfAbandonedNode checks that a node which soft-rebooted without merging the new image, and
// was abandoned meanwhile, is not uncordoned while the guard is about to reboot it.
func TestGuardOfAbandonedNode(t *testing.T) {
	since := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	upgrade := v1alpha1.UpgradeReference{Name: "patch", UID: "uid-1"}
	s := State{Upgrade: upgrade, Step: v1alpha1.StepRebooting, Since: since, Attempts: 1, Method: v1alpha1.MethodSoftReboot, RebootedFrom: "boot-0"}
	o := Observation{
		Now:  since.Add(20 * time.Second),
		Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &upgrade, Type: v1alpha1.TypePatch, Version: newVersion, Release: v1alpha1.ReleaseNone},
		Node: Node{Ready: true, Unschedulable: true, OurCordon: true, SlotMark: "slot-0", KubeletVersion: oldVersion, BootID: "boot-0"},
		Host: &Host{At: since.Add(19 * time.Second), HostFacts: verb.HostFacts{BootID: "boot-0", SoftReboots: 1, Active: newVersion, Merged: oldVersion, Guarded: true}},
	}
	s, a := Next(s, o)
	if s.Step != v1alpha1.StepVerifying || a.Do != DoNothing {
		t.Errorf("after the soft reboot: step %s, action %v, want Verifying and no other reboot", s.Step, a.Do)
	}

	s = State{Upgrade: upgrade, Step: v1alpha1.StepAborting, Since: since, Method: v1alpha1.MethodSoftReboot, RebootedFrom: "boot-0"}
	if _, a := Next(s, o); a.Verb != verb.Confirm {
		t.Errorf("in Aborting after the boot: %+v, want that the guard's watch is ended first", a)
	}
	o.Host.SoftReboots = 0
	if _, a := Next(s, o); a.Do != DoUncordon {
		t.Errorf("in Aborting before the boot: %+v, want that the node is uncordoned: the guard does nothing yet", a)
	}
}

// TestGuardReturnsWhereTheImageIsGone checks that a node which soft-rebooted without merging the new image
// reboots instead, but not if the image is not on its disk any more: its guard returns it.
func TestGuardReturnsWhereTheImageIsGone(t *testing.T) {
	since := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	upgrade := v1alpha1.UpgradeReference{Name: "patch", UID: "uid-1"}
	for installed, want := range map[string]Do{newVersion: DoReboot, oldVersion: DoNothing} {
		s := State{Upgrade: upgrade, Step: v1alpha1.StepRebooting, Since: since, Attempts: 1, Method: v1alpha1.MethodSoftReboot, RebootedFrom: "boot-0"}
		_, a := Next(s, Observation{
			Now:  since.Add(20 * time.Second),
			Spec: v1alpha1.NodeUpgradeSpec{Upgrade: &upgrade, Type: v1alpha1.TypePatch, Version: newVersion, Release: v1alpha1.ReleaseNode, Slot: "slot-0"},
			Node: Node{Ready: true, Unschedulable: true, OurCordon: true, SlotMark: "slot-0", KubeletVersion: oldVersion, BootID: "boot-0"},
			Slot: Slot{Held: "slot-0"},
			Host: &Host{At: since.Add(19 * time.Second), HostFacts: verb.HostFacts{BootID: "boot-0", SoftReboots: 1, Active: newVersion, Merged: oldVersion, Installed: []string{installed}, Guarded: true}},
		})
		if a.Do != want {
			t.Errorf("with %s on the disk: action %v, want %v", installed, a.Do, want)
		}
	}
}
