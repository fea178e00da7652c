//go:build !integration

package sysupdate

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// node has three images; merged is the running one, target the symlink's target.
func node(t *testing.T, merged, target string) host.Layout {
	t.Helper()
	l := confDir(t, map[string]string{"kubernetes-v1.34.conf": of("v1.34")})
	files := map[string]string{
		host.MergedVersionFile:            merged + "\n",
		"/proc/sys/kernel/random/boot_id": "boot-1\n",
		host.KubeletConfig:                "config",
		host.Program(host.Root):           "program",
	}
	for _, v := range []string{"v1.34.2", "v1.34.3", "v1.34.4", "v1.35.4"} {
		files[absolute(v)] = v
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(l.At(host.Link)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, l.At(host.Link)); err != nil {
		t.Fatal(err)
	}
	return l
}

func relative(version string) string { return "../.." + absolute(version) }
func absolute(version string) string { return host.ImagePath(version, host.Architecture()) }

func published(version string) string {
	return filepath.Join(host.ImagesDir, filepath.Base(absolute(version)))
}

// publish puts images where their publisher puts them.
func publish(t *testing.T, l host.Layout, versions ...string) {
	t.Helper()
	for _, version := range versions {
		write(t, l, published(version), version)
	}
}

func linkTarget(t *testing.T, l host.Layout) string {
	t.Helper()
	target, err := os.Readlink(l.At(host.Link))
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestCorrectLink(t *testing.T) {
	tests := map[string]struct {
		merged, before, after string
		note                  bool
	}{
		"as it should be":          {"v1.34.3", relative("v1.34.3"), relative("v1.34.3"), false},
		"a timer was ahead":        {"v1.34.3", relative("v1.34.4"), relative("v1.34.3"), true},
		"absolute stays absolute":  {"v1.34.3", absolute("v1.34.4"), absolute("v1.34.3"), true},
		"somebody goes back":       {"v1.34.3", relative("v1.34.2"), relative("v1.34.2"), false},
		"what runs is gone":        {"v1.34.1", relative("v1.34.4"), relative("v1.34.4"), true},
		"its file is gone":         {"v1.34.3", relative("v1.34.9"), relative("v1.34.3"), true},
		"an older one is gone":     {"v1.34.3", relative("v1.34.1"), relative("v1.34.3"), true},
		"it is the publisher's":    {"v1.34.3", published("v1.34.3"), absolute("v1.34.3"), false},
		"nothing is merged at all": {"", relative("v1.34.4"), relative("v1.34.4"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := node(t, test.merged, test.before)
			note, err := correctLink(l)
			if err != nil || (note != "") != test.note || linkTarget(t, l) != test.after {
				t.Errorf("%q %v; the symlink points to %s, want %s", note, err, linkTarget(t, l), test.after)
			}
		})
	}
}

func args(version string) verb.ActivateArgs {
	sum := sha256.Sum256([]byte(version))
	return verb.ActivateArgs{Version: version, SHA256: hex.EncodeToString(sum[:])}
}

// TestActivateTwice checks that a second call after one that was killed ends as one call would
// have, and that the guard restores the state from before the first.
func TestActivateTwice(t *testing.T) {
	l := node(t, "v1.34.3", relative("v1.34.3"))
	before := contents(t, l)
	for range 2 {
		out, err := Activate(t.Context(), l, args("v1.35.4"), host.ManifestsDir)
		want := &ActivateOutput{From: "v1.34.3", To: "v1.35.4", Conf: "kubernetes-v1.35.conf"}
		if diff := cmp.Diff(want, out); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
		guard, err := l.Guard()
		if err != nil {
			t.Fatal(err)
		}
		restore := host.Restore{
			Link: host.Link, LinkTarget: relative("v1.34.3"), Confs: before,
			Files: map[string]string{host.KubeletConfig: host.Root + "/state/saved/config.yaml"},
		}
		if diff := cmp.Diff(restore, guard.Restore); diff != "" || guard.Within != DefaultGuardWithin || guard.BootID != "boot-1" {
			t.Errorf("%+v %s", guard, diff)
		}
	}
	if got := linkTarget(t, l); got != relative("v1.35.4") {
		t.Errorf("the symlink points to %s", got)
	}
}

// TestActivateBack checks that a node which is taken back gets the kubelet's files of the former version,
// and that the guard restores those of the version that it leaves.
func TestActivateBack(t *testing.T) {
	for name, back := range map[string]bool{"a Rollback": true, "an upgrade": false} {
		t.Run(name, func(t *testing.T) {
			l := node(t, "v1.34.4", relative("v1.34.4"))
			if err := os.MkdirAll(l.At(host.Root, "state/former/v1.34.3"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, l, host.KubeletConfig, "of v1.34.4")
			write(t, l, host.Root+"/state/former/v1.34.3/config.yaml", "of v1.34.3")
			if err := l.SetKubeadmDone(verb.KubeadmDone{Version: "v1.34.4"}); err != nil {
				t.Fatal(err)
			}
			a, want := args("v1.34.3"), "of v1.34.4"
			if a.Back = back; back {
				want = "of v1.34.3"
			}
			for range 2 {
				if _, err := Activate(t.Context(), l, a, host.ManifestsDir); err != nil {
					t.Fatal(err)
				}
			}
			config, err := os.ReadFile(l.At(host.KubeletConfig))
			if err != nil || string(config) != want || linkTarget(t, l) != relative("v1.34.3") {
				t.Errorf("config %q (%v), symlink %s; want %q", config, err, linkTarget(t, l), want)
			}
			if done, err := l.KubeadmDone(); err != nil || (done == nil) != back {
				t.Errorf("kubeadm's record is %v (%v), and the node is taken back: %t", done, err, back)
			}
			guard, err := l.Guard()
			if err != nil {
				t.Fatal(err)
			}
			saved, err := os.ReadFile(l.At(guard.Restore.Files[host.KubeletConfig]))
			if err != nil || string(saved) != "of v1.34.4" {
				t.Errorf("the guard would restore %q (%v)", saved, err)
			}
		})
	}
}

// TestActivateAfterReboot checks that a call after the reboot does not record the new image as
// the one to roll back to.
func TestActivateAfterReboot(t *testing.T) {
	l := node(t, "v1.34.4", relative("v1.34.4"))
	armed := host.Guard{From: "v1.34.3", To: "v1.34.4", BootID: "boot-0"}
	if err := l.SetGuard(armed); err != nil {
		t.Fatal(err)
	}
	if _, err := Activate(t.Context(), l, args("v1.34.4"), host.ManifestsDir); err != nil {
		t.Fatal(err)
	}
	guard, err := l.Guard()
	if diff := cmp.Diff(&armed, guard); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestActivateRefuses(t *testing.T) {
	wrong := args("v1.34.4")
	wrong.SHA256 = args("v1.34.3").SHA256
	for name, a := range map[string]verb.ActivateArgs{"wrong bytes": wrong, "not staged": args("v1.34.9"), "no version": args("latest")} {
		l := node(t, "v1.34.3", relative("v1.34.3"))
		if _, err := Activate(t.Context(), l, a, host.ManifestsDir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if guard, _ := l.Guard(); guard != nil || linkTarget(t, l) != relative("v1.34.3") {
			t.Errorf("%s: something was changed", name)
		}
	}
}

// TestActivateNeedsAWayBack checks that nothing is activated while the guard could not return the
// node, and also not again.
func TestActivateNeedsAWayBack(t *testing.T) {
	l := node(t, "v1.34.3", relative("v1.34.3"))
	running := absolute("v1.34.3")
	refused := func() {
		t.Helper()
		if err := os.Remove(l.At(running)); err != nil {
			t.Fatal(err)
		}
		_, err := Activate(t.Context(), l, args("v1.34.4"), host.ManifestsDir)
		if host.ReasonOf(err, "") != v1alpha1.ReasonActivateFailed || !strings.HasSuffix(err.Error(), ": "+published("v1.34.3")) {
			t.Errorf("got %v, want that the file is put back", err)
		}
	}
	refused()
	if armed, _ := l.GuardArmed(); armed || linkTarget(t, l) != relative("v1.34.3") {
		t.Error("something was changed")
	}
	write(t, l, published("v1.34.3"), "v1.34.3")
	if _, err := Activate(t.Context(), l, args("v1.34.4"), host.ManifestsDir); err != nil {
		t.Fatalf("the file is back: %v", err)
	}
	if err := os.Remove(l.At(published("v1.34.3"))); err != nil {
		t.Fatal(err)
	}
	refused()
}
