package guard

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

const refusal = "Failed to read metadata for image other: Package not installed"

// count returns how often a command ran.
func (n *node) count(command string) (times int) {
	for _, ran := range n.ran {
		if ran == command {
			times++
		}
	}
	return times
}

// checkReturnedInPlace checks that the node is back at its former version without a reboot.
func (n *node) checkReturnedInPlace() {
	n.t.Helper()
	if merged := n.merged(); merged != from || n.reboots > 0 {
		n.t.Errorf("%q is merged after %d reboots, want %s and none: %q", merged, n.reboots, from, n.ran)
	}
	r, err := n.Rollback()
	n.must(err)
	want := "the image of " + to + " was not merged, after one more merge: systemd-sysext refresh merged no image of Kubernetes"
	if r == nil || r.Impossible || r.NodesFault || r.FinishedAt.IsZero() || r.Message != want {
		n.t.Errorf("the record is %+v, want the message %q", r, want)
	}
	if !slices.Contains(n.ran, "systemctl restart --no-block kubelet.service") {
		n.t.Errorf("the kubelet was not started: %q", n.ran)
	}
	n.checkDisarmed()
}

// The first merge after a boot fails, and a second succeeds (systemd#36409).
func TestSecondMergeHelps(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.merges = Health{}, []string{to}
	if n.guard() || n.count("systemd-sysext refresh") != 1 {
		t.Errorf("ran %q", n.ran)
	}
	first := slices.Index(n.ran, "systemd-sysext refresh")
	want := []string{"systemctl daemon-reload", "systemctl reset-failed kubelet.service", "systemctl restart --no-block kubelet.service", "systemctl start --no-block multi-user.target"}
	if got := n.ran[first+1:]; !slices.Equal(got[:len(want)], want) {
		t.Errorf("after the merge ran %q, want %q", got, want)
	}
	n.checkDisarmed()
	if r, err := n.Rollback(); r != nil || err != nil {
		t.Errorf("a rollback is recorded: %+v %v", r, err)
	}
}

// The merge is tried as soon as systemd's own has ended, and not before.
func TestMergeWaitsForSystemd(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.sysext = Health{}, "ActiveState=activating\nSubState=start\nResult=success\n"
	began := n.clock
	n.onRun = func(command string) {
		switch {
		case command == "systemd-sysext refresh" && n.sysext != "":
			t.Error("the guard merged while systemd did")
		case command == "systemd-sysext refresh" && n.clock-began > 90*time.Second:
			t.Errorf("the guard merged %s after its start", n.clock-began)
		case n.clock-began > time.Minute:
			n.sysext = ""
		}
	}
	if n.guard() || n.count("systemd-sysext refresh") != 1 {
		t.Errorf("ran %q", n.ran)
	}
}

// An image that cannot be merged needs no reboot to return: nothing is merged that one would undo.
func TestImageThatNeverMergesReturns(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.merges = Health{}, []string{"", from}
	if n.guard() {
		t.Errorf("the node was rebooted: %q", n.ran)
	}
	n.checkReturnedInPlace()
}

// Another extension with which systemd-sysext merges nothing at all: the way back would not help.
func TestNothingCanBeMerged(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.refuses = Health{}, refusal
	if n.guard() || n.count("systemd-sysext refresh") != 2 {
		t.Errorf("%d reboots, want none; ran %q", n.reboots, n.ran)
	}
	if active, err := n.Active(); err != nil || active.Version() != from {
		t.Errorf("the symlink points to %v (%v), want %s", active, err, from)
	}
	n.checkDisarmed()
	r, err := n.Rollback()
	n.must(err)
	said := "systemd-sysext refresh failed (exit status 1): " + refusal
	want := "the image of " + to + " was not merged, after one more merge: " + said +
		"; the image of " + from + " cannot be merged either (" + said + "), so a reboot would not help"
	if r == nil || !r.Impossible || !r.NodesFault || r.FinishedAt.IsZero() || r.Message != want {
		t.Errorf("the record is %+v, want the message %q", r, want)
	}
	if want := "it has ended, and a person has to repair the node: " + want; !slices.Contains(n.told, want) {
		t.Errorf("the Node was told %q, want %q", n.told, want)
	}
}

// What keeps the node from returning is tried once, also by a guard that is interrupted in each try:
// by a power cut, after which the symlink's image is not merged either.
func TestInterruptedTriesAreNotRepeated(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.refuses = Health{}, refusal
	for range 10 {
		n.onRun = func(command string) {
			if command == "systemd-sysext refresh" {
				n.stop()
				panic("power cut")
			}
		}
		cut := func() (cut bool) {
			defer func() { cut = recover() != nil }()
			n.guard()
			return false
		}()
		if !cut {
			break
		}
		n.boot("")
	}
	if got := n.count("systemd-sysext refresh"); got != 2 || n.reboots != 0 {
		t.Errorf("%d merges and %d reboots, want 2 and none", got, n.reboots)
	}
	if r, err := n.Rollback(); err != nil || r == nil || !r.Impossible || !r.NodesFault {
		t.Errorf("the record is %+v (%v)", r, err)
	}
	n.checkDisarmed()
}

// systemd gives up on a kubelet, which the guard starts once more (AgentBaker#9088).
func TestStartLimit(t *testing.T) {
	const start = "systemctl start --no-block kubelet.service"
	n := newNode(t, v1alpha1.MethodReboot)
	n.gaveUp = "start-limit-hit"
	n.onRun = func(command string) {
		if command == start {
			n.health = Health{}
		}
	}
	if n.guard() || n.count(start) != 1 || n.count("systemctl reset-failed kubelet.service") != 1 {
		t.Errorf("ran %q", n.ran)
	}
	n.checkDisarmed()

	n = newNode(t, v1alpha1.MethodReboot)
	n.gaveUp = "exit-code"
	if !n.guard() || n.count(start) != 1 {
		t.Errorf("%d starts, want 1, and a rollback: %q", n.count(start), n.ran)
	}
	want := "refused, after one more start of kubelet.service, which systemd had given up on (exit-code)"
	if r, err := n.Rollback(); err != nil || r == nil || r.Message != want || r.NodesFault {
		t.Errorf("the record is %+v (%v), want %q", r, err, want)
	}
}

// A version is not to blame for a container runtime that has failed, nor for a network that does not
// come back with the former one.
func TestNodesFault(t *testing.T) {
	for name, test := range map[string]struct {
		containerd string
		network    bool // it is gone
		returns    bool // it returns with the former version
		want       bool
	}{
		"containerd":                        {"ActiveState=failed\nSubState=failed\nResult=signal\n", false, false, true},
		"no network":                        {"", true, false, true},
		"no network with the new version":   {"", true, true, false},
		"the kubelet":                       {"", false, false, false},
		"no network, and therefore runtime": {"ActiveState=failed\nSubState=failed\nResult=signal\n", true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, v1alpha1.MethodReboot)
			n.containerd = test.containerd
			if test.network {
				n.health.Network, n.silent = "the node has no network", 24*time.Hour
			}
			if !n.guard() {
				t.Fatal("it was not rolled back")
			}
			if test.returns {
				n.health.Network = ""
			}
			n.guard()
			if r, err := n.Rollback(); err != nil || r == nil || r.NodesFault != test.want || r.FinishedAt.IsZero() {
				t.Errorf("the record is %+v (%v), want the node's fault %t", r, err, test.want)
			}
		})
	}
	for said, want := range map[string]string{
		"systemd-sysext refresh failed (exit status 1): " + refusal:           "other",
		"Failed to read metadata for image kubernetes-v1.34: No medium":       "kubernetes-v1.34",
		"Failed to read metadata for image kubernetes: Package not installed": "",
		"exit status 1": "",
	} {
		if got := refusedImage(said); got != want {
			t.Errorf("%q names %q, want %q", said, got, want)
		}
	}
}

// With method Restart a refresh that another image stops is not followed by a reboot, which would
// merge nothing either.
func TestRestartThatMergesNothing(t *testing.T) {
	n := newNode(t, v1alpha1.MethodRestart)
	n.merge("")
	n.refuses = refusal
	if n.guard() {
		t.Errorf("the node was rebooted: %q", n.ran)
	}
	if r, err := n.Rollback(); err != nil || r == nil || !r.Impossible || !r.NodesFault {
		t.Errorf("the record is %+v (%v)", r, err)
	}

	n = newNode(t, v1alpha1.MethodRestart)
	n.merge("")
	n.refuses = "Failed to unmount /usr: Device or resource busy"
	if !n.guard() {
		t.Errorf("a refresh that failed for another cause was not followed by a reboot: %q", n.ran)
	}
}

// What the guard finds is written on the Node once, and again when it changes; without network
// that is repeated, and the guard of a node that cannot return waits for it.
func TestTell(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.merge("")
	n.health, n.refuses, n.offline = Health{}, refusal, true
	began := n.clock
	n.onRun = func(string) {
		if n.clock-began > 2*time.Minute {
			n.offline = false
		}
	}
	n.guard()
	if len(n.told) != 3 || !strings.HasSuffix(n.told[0], "; it returns the node to "+from+" if that lasts") ||
		!strings.HasPrefix(n.told[1], "it returns the node to "+from+": ") || !strings.HasPrefix(n.told[2], "it has ended") {
		t.Errorf("the Node was told %q", n.told)
	}

	n = newNode(t, v1alpha1.MethodReboot)
	n.offline = true
	if !n.guard() || n.clock > 10*time.Minute {
		t.Errorf("a rollback waited for the network until %s: %q", n.clock, n.ran)
	}
}

// The guard that has ended waits for the network, unless another activation was armed.
func TestTellAtLast(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.must(n.DisarmGuard())
	g := n.guardian()
	tries := 0
	g.annotate = func(context.Context, string) error {
		if tries++; tries < 5 {
			return errors.New("no network")
		}
		return nil
	}
	if err := g.tellAtLast(t.Context(), "refused"); err != nil || tries != 5 {
		t.Errorf("%v after %d tries", err, tries)
	}
	record, err := n.Guard()
	n.must(err)
	n.must(n.ArmGuard(*record))
	g = n.guardian()
	g.annotate = func(context.Context, string) error { return errors.New("no network") }
	if err := g.tellAtLast(t.Context(), "refused"); err == nil {
		t.Error("the guard did not notice that another activation was armed")
	}
}

// The record has what was merged, the states of the units and their journals.
func TestEvidence(t *testing.T) {
	n := newNode(t, v1alpha1.MethodReboot)
	n.write(extensionReleases+"/extension-release.other", "")
	n.write(extensionReleases+"/extension-release.kubernetes", "")
	n.sysext = "ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=1\n"
	g := n.guardian()
	text := g.evidence(t.Context())
	for _, want := range []string{"merged: kubernetes, other\n", "systemd-sysext.service: failed (failed), result exit-code, status 1\n", "containerd.service: active (running)", "kubelet.service: activating (auto-restart)", "panic: broken"} {
		if !strings.Contains(text, want) {
			t.Errorf("the evidence lacks %q:\n%s", want, text)
		}
	}
	g.run = func(context.Context, *host.Log, string, ...string) (string, error) {
		return strings.Repeat("line\n", 10000), nil
	}
	if text := g.evidence(t.Context()); len(text) > 6<<10 {
		t.Errorf("the evidence has %d bytes", len(text))
	}
	n.must(os.RemoveAll(n.At(extensionReleases)))
	if got := g.extensions(); got != "no extension" {
		t.Errorf("%q is merged", got)
	}
}
