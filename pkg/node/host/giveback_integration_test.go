//go:build integration

package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// publishers is a definition as a publisher writes it, with what Render does not keep.
const publishers = `# From the publisher.
[Transfer]
Verify=false

[Source]
Type=url-file
Path=https://images.example/
MatchPattern=kubernetes-v1.34.@v-%a.raw

[Target]
InstancesMax=3
Type=regular-file
Path=/opt/extensions/kubernetes
CurrentSymlink=/etc/extensions/kubernetes.raw
`

// files returns a line for each file on the node that a verb could change: mode, owner, size
// or target, digest; and for definitions the time.
func files(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, root := range []string{"/etc", "/opt", "/usr/local", "/var/lib", "/run/kubectl-upgrade"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return nil
			}
			if path == "/var/lib/systemd" || path == "/etc/mtab" {
				return filepath.SkipDir
			}
			line := info.Mode().String()
			switch {
			case info.Mode().Type() == fs.ModeSymlink:
				target, _ := os.Readlink(path)
				line += " " + target
			case info.Mode().IsRegular():
				data, _ := os.ReadFile(path)
				sum := sha256.Sum256(data)
				line += " " + hex.EncodeToString(sum[:8])
			}
			if filepath.Dir(path) == host.ConfDir {
				line += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
			}
			found[path] = line
			return nil
		})
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return found
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, args, err, out)
	}
}

// unmanaged makes the node one that was never managed.
func unmanaged(t *testing.T, version string) {
	t.Helper()
	const aside = "/kept-aside"
	running, err := host.NewImage(version, host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	command(t, "mv", host.KeptDir, aside)
	command(t, "cp", filepath.Join(aside, running.Name()), running.PublishedPath())
	command(t, "ln", "-sfn", "../.."+running.PublishedPath(), host.Link)
	t.Cleanup(func() {
		_ = os.RemoveAll(host.KeptDir)
		_ = os.Rename(aside, host.KeptDir)
		_ = os.Remove(running.PublishedPath())
		_ = os.Remove(host.Link)
		_ = os.Symlink("../.."+running.Path(), host.Link)
	})
}

// TestGiveBack checks that facts are gathered on a node where nothing is installed, without
// writing a file, and that uninstall returns a node that was taken over file by file.
func TestGiveBack(t *testing.T) {
	const program, aside = "/agent", "/kubectl-upgrade-aside"
	command(t, "cp", host.Program(host.Root), program)
	command(t, "mv", host.Root, aside)
	t.Cleanup(func() {
		_ = os.RemoveAll(host.Root)
		_ = os.Rename(aside, host.Root)
		_ = os.RemoveAll(host.ConfDir)
	})
	staged := host.ImagePath("v1.34.4", host.Architecture())
	image, err := os.ReadFile(staged)
	if err != nil {
		t.Fatal(err)
	}
	hash := upgradeArgs(t).SHA256
	unmanaged(t, "v1.34.3")
	definition := host.ConfDir + "/kubernetes-v1.34.conf"
	if err := os.MkdirAll(host.ConfDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(definition, []byte(publishers), 0o640); err != nil {
		t.Fatal(err)
	}
	written := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(definition, written, written); err != nil {
		t.Fatal(err)
	}
	command(t, "rm", "-rf", "/run/kubectl-upgrade") // of tests before this one
	before := files(t)

	c := connect(t)
	c.SetProgram(program)
	changes := follow(t, c)
	direct := verb.Options{Direct: true, RuntimeMax: time.Minute}
	facts := func(key string) (facts verb.HostFacts) {
		t.Helper()
		start(t, c, request(t, verb.Facts, key, nil), direct)
		result := finish(t, c, changes, verb.Facts)
		if err := result.Decode(&facts); err != nil || !result.OK || result.Key != key {
			t.Fatalf("%+v %v", result, err)
		}
		return facts
	}
	if f := facts("1"); f.HasFiles || !f.Armed || f.Active != "v1.34.3" {
		t.Errorf("%+v", f)
	}
	if diff := cmp.Diff(before, files(t)); diff != "" {
		t.Errorf("gathering facts changed the node (-before +after):\n%s", diff)
	}

	command(t, "install", "-D", program, host.Program(host.Root))
	command(t, "mkdir", "-p", host.StateDir(host.Root))
	start(t, c, request(t, verb.Disarm, "d", nil), verb.Options{})
	if result := finish(t, c, changes, verb.Disarm); !result.OK {
		t.Fatalf("%+v", result)
	}
	if text, _ := os.ReadFile(definition); strings.Contains(string(text), "CurrentSymlink=/") {
		t.Fatalf("the definition is still the publisher's:\n%s", text)
	}
	name, err := host.NewImage("v1.34.4", host.Architecture())
	if err != nil {
		t.Fatal(err)
	}
	args := verb.StageArgs{Version: "v1.34.4", URL: publish(t, name, image, hash), SHA256: hash}
	start(t, c, request(t, verb.Stage, "s", args), verb.Options{})
	if result := finish(t, c, changes, verb.Stage); !result.OK {
		t.Fatalf("%+v", result)
	}
	if err := host.OnNode.EnableGuard(); err != nil { // as kubeadm does
		t.Fatal(err)
	}
	if f := facts("2"); !f.HasFiles || f.Armed || len(f.Installed) != 2 {
		t.Errorf("%+v", f)
	}
	for i := range 2 { // the second finds nothing to do
		start(t, c, request(t, verb.Uninstall, fmt.Sprint("u", i), nil), direct)
		if result := finish(t, c, changes, verb.Uninstall); !result.OK {
			t.Fatalf("%+v", result)
		}
		if diff := cmp.Diff(before, files(t)); diff != "" {
			t.Errorf("after uninstall (-before +after):\n%s", diff)
		}
	}
	if f := facts("3"); f.HasFiles || !f.Armed {
		t.Errorf("%+v", f)
	}
	units, _ := exec.CommandContext(t.Context(), "systemctl", "list-units", "--all", "--no-legend", "kubectl-upgrade-*").CombinedOutput()
	if text := strings.TrimSpace(string(units)); text != "" {
		t.Errorf("units are left: %s", text)
	}
}
