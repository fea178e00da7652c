package guard

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestSoftRebootIsReturnedByAReboot: after a soft reboot, too, the guard watches, and it returns
// the node by a reboot, with which the machine starts anew.
func TestSoftRebootIsReturnedByAReboot(t *testing.T) {
	n := newNode(t, v1alpha1.MethodSoftReboot)
	if !n.guard() || n.guard() || n.reboots != 1 {
		t.Errorf("%d reboots, want 1: %q", n.reboots, n.ran)
	}
	n.checkReturned()
}

// TestSoftRebootThatMergesNothingIsReturned: the boot ID alone would say that the node has not
// rebooted since the activation, and the guard would leave.
func TestSoftRebootThatMergesNothingIsReturned(t *testing.T) {
	n := newNode(t, v1alpha1.MethodSoftReboot)
	n.merge("")
	n.health, n.merges = Health{}, []string{"", from}
	if n.guard() {
		t.Errorf("the node was rebooted: %q", n.ran)
	}
	n.checkReturnedInPlace()
}

// TestGuardBeforeTheSoftReboot: a guard that is started before the soft reboot leaves, and does
// not shorten the time that the node has after it, although /run is kept.
func TestGuardBeforeTheSoftReboot(t *testing.T) {
	n := newNode(t, v1alpha1.MethodSoftReboot)
	n.softs--
	n.merge(from)
	if n.guard() {
		t.Fatal("the guard rebooted a node that is about to be soft-rebooted")
	}
	n.clock = 0 // it is read in steps, and the limit is three minutes
	n.bootSoftly(to)
	n.checkBoots(1)
	n.guard()
	n.checkBoots(2)
}

// TestPowerCutInsteadOfSoftReboot: a boot is more than what was asked for, and is watched too.
func TestPowerCutInsteadOfSoftReboot(t *testing.T) {
	n := newNode(t, v1alpha1.MethodSoftReboot)
	n.boot(to)
	n.health = Health{}
	if n.guard() {
		t.Error("a healthy node was rebooted")
	}
	n.checkDisarmed()
}

// TestGuardWaitsForSystemd: without systemd's count the guard ends with an error, and is started
// again, rather than leave a node unwatched.
func TestGuardWaitsForSystemd(t *testing.T) {
	n := newNode(t, v1alpha1.MethodSoftReboot)
	n.fails["systemctl show --property=Version --property=SoftRebootsCount"] = true
	record, err := n.Guard()
	n.must(err)
	g := &guardian{Layout: n.Layout, record: *record, log: host.NewLog(t.Output()), run: n.run}
	if err := g.guard(t.Context()); err == nil {
		t.Error("the guard ended as if nothing were left to do")
	}
	if armed, err := n.GuardArmed(); !armed || err != nil {
		t.Errorf("the guard is armed: %t (%v), want armed", armed, err)
	}
}
