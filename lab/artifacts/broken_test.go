package artifacts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
)

// brokenTree writes the files of an image of that kind, whose programs are scripts: the
// kubelet prints its arguments.
func brokenTree(t *testing.T, kind BrokenKind) string {
	t.Helper()
	binDir, rootfs := fakeNode(t)
	for name, script := range map[string]string{
		"kubelet":  "#!/bin/sh\n[ \"$1\" = --version ] && exec echo Kubernetes v1.34.4\necho kubelet \"$@\"\n",
		"kubeadm":  "#!/bin/sh\necho v1.34.4\n",
		"criproxy": "#!/bin/sh\n",
	} {
		write(t, binDir, name, script)
		if err := os.Chmod(filepath.Join(binDir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := kubernetesTree("1.34.4", binDir, rootfs)
	if err != nil {
		t.Fatal(err)
	}
	kind.change(&tree, filepath.Join(binDir, "criproxy"))
	out := t.TempDir()
	if err := tree.write("/", out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBrokenImagesPassTheContentCheck(t *testing.T) {
	image, err := host.NewImage("v1.34.4", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range append(BrokenKinds, BrokenKind{}) {
		tree := brokenTree(t, kind)
		ask := func(ctx context.Context, program string, args ...string) (string, error) {
			said, err := exec.CommandContext(ctx, filepath.Join(tree, program), args...).Output()
			return strings.TrimSpace(string(said)), err
		}
		if err := sysupdate.VerifyTree(t.Context(), tree, image, ask); err != nil {
			t.Errorf("%s: %v", kind.Name, err)
		}
	}
}

func TestBrokenImagesDifferFromTheGoodOne(t *testing.T) {
	good := files(t, brokenTree(t, BrokenKind{}))
	for name, want := range map[string][]string{
		"crash":          {"usr/libexec/kubelet"},
		"hang":           {"usr/libexec/kubelet"},
		"not-ready":      {"usr/libexec/criproxy", "usr/libexec/kubelet"},
		"no-merge":       nil,
		"no-network":     {"usr/lib/systemd/system/multi-user.target.d/10-no-network.conf", "usr/lib/systemd/system/no-network.service"},
		"no-static-pods": {"usr/libexec/kubelet"},
		"dies":           {"usr/libexec/kubelet"},
		"dies-late":      {"usr/libexec/kubelet"},
		"late":           {"usr/libexec/kubelet"},
	} {
		kind, err := FindBrokenKind(name)
		if err != nil {
			t.Error(err)
			continue
		}
		added := map[string]bool{}
		for _, file := range files(t, brokenTree(t, kind)) {
			added[file] = true
		}
		for _, file := range append(good, want...) {
			if !added[file] {
				t.Errorf("%s: there is no %s", name, file)
			}
			delete(added, file)
		}
		if len(added) > 0 {
			t.Errorf("%s: there is more than wanted: %v", name, added)
		}
	}
}

// TestBrokenKubelets runs the kubelets of all kinds that have one. Here `sleep` ends at
// once and prints its arguments.
func TestBrokenKubelets(t *testing.T) {
	for name, want := range map[string]string{
		"crash":          "panic: broken on purpose\nexit status 2",
		"hang":           "sleep infinity\n",
		"late":           "sleep 60\nkubelet --config=c\n",
		"no-static-pods": "kubelet --config=c --pod-manifest-path=/run/no-static-pods\n",
	} {
		kind, err := FindBrokenKind(name)
		if err != nil {
			t.Fatal(err)
		}
		bin := t.TempDir()
		for program, script := range map[string]string{"sleep": "#!/bin/sh\necho sleep \"$@\"\n", "mkdir": "#!/bin/sh\n"} {
			write(t, bin, program, script)
			if err := os.Chmod(filepath.Join(bin, program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(filepath.Join(brokenTree(t, kind), kubeletPath), "--config=c")
		cmd.Env = []string{"PATH=" + bin}
		cmd.WaitDelay = 10 * time.Second
		said, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = append(said, exit.Error()...)
		} else if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(said)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNoMergeIsForAnotherSystem(t *testing.T) {
	kind, err := FindBrokenKind("no-merge")
	if err != nil {
		t.Fatal(err)
	}
	const file = "usr/lib/extension-release.d/extension-release.kubernetes"
	release, err := os.ReadFile(filepath.Join(brokenTree(t, kind), file))
	if err != nil || !strings.HasPrefix(string(release), "ID=broken-on-purpose\n") {
		t.Errorf("%s is %q (%v)", file, release, err)
	}
}

// TestEveryKindIsAnotherArtifact: kinds with the same recipe would share an image.
func TestEveryKindIsAnotherArtifact(t *testing.T) {
	binDir, rootfs := fakeNode(t)
	seen := map[string]string{}
	for _, kind := range append(BrokenKinds, BrokenKind{Name: "good"}) {
		tree, err := kubernetesTree("1.34.4", binDir, rootfs)
		if err != nil {
			t.Fatal(err)
		}
		kind.change(&tree, "criproxy")
		recipe := strings.Join(tree.recipe(), "\n")
		if other, found := seen[recipe]; found {
			t.Errorf("%s has the recipe of %s", kind.Name, other)
		}
		seen[recipe] = kind.Name
	}
}

func TestUnknownBrokenKind(t *testing.T) {
	_, err := FindBrokenKind("sad")
	const want = `"sad" is no kind of broken image: they are crash, hang, not-ready, no-merge, no-network, no-static-pods, dies, dies-late, late`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestREADMEListsTheBrokenKinds(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| kind | with the image merged |\n| --- | --- |\n"
	for _, kind := range BrokenKinds {
		table += "| `" + kind.Name + "` | " + kind.Does + " |\n"
	}
	if !strings.Contains(string(readme), table+"\n") {
		t.Errorf("README.md does not have the table\n%s", table)
	}
}
