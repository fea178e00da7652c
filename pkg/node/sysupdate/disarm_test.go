//go:build !integration

package sysupdate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

func TestDisarm(t *testing.T) {
	tests := map[string]struct {
		merged, symlink string
		guard           *host.Guard
		ended           bool   // the guard has
		armed           bool   // before
		after           string // where the symlink leads
	}{
		"the publisher's conf":     {"v1.34.3", "v1.34.3", nil, false, true, "v1.34.3"},
		"a timer was ahead":        {"v1.34.3", "v1.34.4", nil, false, true, "v1.34.3"},
		"past the last check":      {"v1.34.3", "v1.34.4", &host.Guard{To: "v1.34.4"}, false, false, "v1.34.4"},
		"a timer after a rollback": {"v1.34.3", "v1.34.4", &host.Guard{To: "v1.34.4"}, true, true, "v1.34.3"},
		"another one than ours":    {"v1.34.3", "v1.35.4", &host.Guard{To: "v1.34.4"}, false, true, "v1.34.3"},
		"nothing is merged at all": {"", "v1.34.4", nil, false, true, "v1.34.4"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := node(t, test.merged, relative(test.symlink))
			if test.guard != nil {
				if err := l.ArmGuard(*test.guard); err != nil {
					t.Fatal(err)
				}
			}
			if test.ended {
				if err := l.DisarmGuard(); err != nil {
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
			if got := linkTarget(t, l); got != relative(test.after) {
				t.Errorf("the symlink points to %s, want %s", got, test.after)
			}
			if conf := contents(t, l)["kubernetes-v1.34.conf"]; test.armed && strings.Contains(conf, "\nCurrentSymlink=") {
				t.Errorf("the conf could still do harm:\n%s", conf)
			}
		})
	}
}

// TestKeep checks that the images that a node needs are kept where no definition covers them:
// those of a node that was never managed, one that a person activated, and the one that a
// rollback returns to.
func TestKeep(t *testing.T) {
	l := node(t, "v1.34.3", relative("v1.34.3"))
	publish(t, l, "v1.34.2", "v1.34.3", "v1.34.4")
	if err := os.RemoveAll(l.At(host.KeptDir)); err != nil {
		t.Fatal(err)
	}
	point := func(version string) {
		t.Helper()
		if err := os.Remove(l.At(host.Link)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(published(version), l.At(host.Link)); err != nil {
			t.Fatal(err)
		}
	}
	want := func(target string, kept ...string) {
		t.Helper()
		if !Armed(l) {
			t.Error("not armed, but the image can be deleted")
		}
		if _, err := Disarm(l); err != nil {
			t.Fatal(err)
		}
		if Armed(l) {
			t.Error("still armed")
		}
		if got := linkTarget(t, l); got != target {
			t.Errorf("the symlink points to %s, want %s", got, target)
		}
		installed, err := l.Installed()
		if err != nil {
			t.Fatal(err)
		}
		var versions []string
		for _, image := range installed {
			versions = append(versions, image.Version())
		}
		if diff := cmp.Diff(kept, versions); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
	}
	point("v1.34.3")
	want(absolute("v1.34.3"), "v1.34.3")
	if err := l.SetGuard(host.Guard{From: "v1.34.2", To: "v1.34.3"}); err != nil {
		t.Fatal(err)
	}
	want(absolute("v1.34.3"), "v1.34.2", "v1.34.3")
	point("v1.34.2") // a person goes back
	want(absolute("v1.34.2"), "v1.34.2", "v1.34.3")

	// systemd-sysupdate deletes what is its own.
	if err := os.Remove(l.At(published("v1.34.3"))); err != nil {
		t.Fatal(err)
	}
	point("v1.34.3")
	want(absolute("v1.34.3"), "v1.34.2", "v1.34.3")
}

// TestDisarmUnclearDefinitions checks that an activation is reverted although the definitions
// are not valid: a definition of every minor activates the next one.
func TestDisarmUnclearDefinitions(t *testing.T) {
	every := strings.Replace(bakery, "v1.34.@v", "@v", 1)
	for name, confs := range map[string]map[string]string{
		"every minor": {"kubernetes.conf": every},
		"two minors":  {"kubernetes-v1.34.conf": of("v1.34"), "kubernetes-v1.35.conf": of("v1.35")},
	} {
		l := node(t, "v1.34.3", relative("v1.35.4"))
		if err := os.RemoveAll(l.At(host.ConfDir)); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(l.At(host.ConfDir), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range confs {
			write(t, l, filepath.Join(host.ConfDir, file), text)
		}
		if !Armed(l) {
			t.Errorf("%s: not armed, and the next boot starts another minor", name)
		}
		out, err := Disarm(l)
		if host.ReasonOf(err, "") != v1alpha1.ReasonConfConflict || len(out.Notes) != 1 {
			t.Errorf("%s: %+v %v", name, out, err)
		}
		if got := linkTarget(t, l); got != relative("v1.34.3") || Armed(l) {
			t.Errorf("%s: the symlink points to %s; armed %t", name, got, Armed(l))
		}
		if diff := cmp.Diff(confs, contents(t, l)); diff != "" {
			t.Errorf("%s: definitions (-want +got):\n%s", name, diff)
		}
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
