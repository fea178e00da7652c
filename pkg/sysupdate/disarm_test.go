//go:build !integration

package sysupdate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

func TestDisarm(t *testing.T) {
	tests := map[string]struct {
		merged, symlink string
		guard           *host.Guard
		armed           bool   // before
		after           string // where the symlink leads
	}{
		"the publisher's conf":     {"v1.34.3", "v1.34.3", nil, true, "v1.34.3"},
		"a timer was ahead":        {"v1.34.3", "v1.34.4", nil, true, "v1.34.3"},
		"past the last check":      {"v1.34.3", "v1.34.4", &host.Guard{To: "v1.34.4"}, false, "v1.34.4"},
		"nothing is merged at all": {"", "v1.34.4", nil, true, "v1.34.4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := node(t, test.merged, relative(test.symlink))
			if test.guard != nil {
				if err := l.SetGuard(*test.guard); err != nil {
					t.Fatal(err)
				}
			}
			if got := Armed(l); got != test.armed {
				t.Errorf("armed %t, want %t", got, test.armed)
			}
			if _, err := Disarm(l); err != nil {
				t.Fatal(err)
			}
			if Armed(l) {
				t.Error("still armed")
			}
			if got := target(t, l); got != relative(test.after) {
				t.Errorf("the symlink points to %s, want %s", got, test.after)
			}
			if conf := contents(t, l)["kubernetes-v1.34.conf"]; test.armed && (strings.Contains(conf, "\nCurrentSymlink=") || !strings.Contains(conf, "\nProtectVersion=")) {
				t.Errorf("the conf could still do harm:\n%s", conf)
			}
		})
	}
}

// TestArmedAfterPatch checks that a node which runs a newer patch than its conf protects counts
// as armed: a vacuum could delete the running image.
func TestArmedAfterPatch(t *testing.T) {
	l := node(t, "v1.34.3", relative("v1.34.3"))
	if _, err := Disarm(l); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.At(host.MergedVersionFile), []byte("v1.34.4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !Armed(l) {
		t.Error("a conf that does not protect the running image counts as disarmed")
	}
}

// TestDisarmWithdrawsReboot checks that disarm also withdraws the reboot which the timer's
// drop-in requested for the image that disarm deactivates.
func TestDisarmWithdrawsReboot(t *testing.T) {
	l := node(t, "v1.34.3", relative("v1.34.4"))
	file := l.At("/run/reboot-required")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Disarm(l); err != nil {
		t.Fatal(err)
	}
	if facts, err := host.Gather(l); err != nil || facts.RebootRequired || facts.Active != facts.Merged {
		t.Errorf("%+v %v", facts, err)
	}
}
