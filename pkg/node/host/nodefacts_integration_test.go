//go:build integration

package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// within is the longest that the verb may take: it runs every few minutes on every
// node.
const within = time.Second

func nodeFacts(t *testing.T, c *host.Client, changes <-chan host.Change, key string) v1alpha1.NodeFacts {
	t.Helper()
	asked := time.Now()
	start(t, c, request(t, verb.Facts, key, nil), verb.Options{})
	result := finish(t, c, changes, verb.Facts)
	t.Logf("the verb took %s, asked for and answered in %s", result.FinishedAt.Sub(result.StartedAt), time.Since(asked))
	if took := result.FinishedAt.Sub(result.StartedAt); took > within {
		t.Errorf("the verb took %s", took)
	}
	var facts verb.HostFacts
	if err := result.Decode(&facts); err != nil {
		t.Fatal(err)
	}
	return facts.Node
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

func TestNodeFacts(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	put(t, "/etc/systemd/system/kubelet.service", "[Service]\nEnvironmentFile=-"+host.KubeletFlags+"\nExecStart=/usr/bin/kubelet $KUBELET_KUBEADM_ARGS\n")
	put(t, host.KubeletFlags, "KUBELET_KUBEADM_ARGS=\"--pod-infra-container-image=pause\"\n")
	put(t, host.KubeletConfig, "failCgroupV1: false\n")
	facts := nodeFacts(t, c, changes, "facts")
	var st unix.Statfs_t
	if err := unix.Statfs("/sys/fs/cgroup", &st); err != nil {
		t.Fatal(err)
	}
	if unified := st.Type == unix.CGROUP2_SUPER_MAGIC; unified != (facts.CgroupVersion == 2) || facts.CgroupVersion == 0 {
		t.Errorf("version of control groups: %d", facts.CgroupVersion)
	}
	if !slices.Equal(facts.KubeletFlags, []string{"pod-infra-container-image"}) || facts.FailCgroupV1 == nil || *facts.FailCgroupV1 {
		t.Errorf("%+v", facts)
	}
	if !slices.ContainsFunc(facts.Disks, func(d v1alpha1.DiskFacts) bool { return d.Path == host.ImagesDir && d.FreeBytes > 0 }) {
		t.Errorf("%+v", facts.Disks)
	}
	if len(facts.Problems) > 0 {
		t.Errorf("problems: %q", facts.Problems)
	}
}

// TestRefreshBlockers checks that mounts below the merged file system block a refresh, and that
// itself does not. What a refresh does to such a mount depends on systemd's version, and is
// logged.
func TestRefreshBlockers(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	if facts := nodeFacts(t, c, changes, "unmerged"); len(facts.RefreshBlockers) > 0 {
		t.Errorf("unmerged: %v", facts.RefreshBlockers)
	}
	if err := os.Rename(host.Link, "/etc/kubernetes.raw"); err != nil { // no real image
		t.Fatal(err)
	}
	defer func() { _ = os.Rename("/etc/kubernetes.raw", host.Link) }()
	put(t, "/run/extensions/x/usr/lib/extension-release.d/extension-release.x", "ID=_any\n")
	run(t, "systemd-sysext", "merge")
	defer run(t, "systemd-sysext", "unmerge")
	if facts := nodeFacts(t, c, changes, "merged"); len(facts.RefreshBlockers) > 0 {
		t.Errorf("merged: %v", facts.RefreshBlockers)
	}

	const point = "/usr/share/doc"
	run(t, "mount", "-t", "tmpfs", "tmpfs", point)
	defer func() { _ = unix.Unmount(point, unix.MNT_DETACH) }()
	if facts := nodeFacts(t, c, changes, "mounted"); !slices.Equal(facts.RefreshBlockers, []string{point}) {
		t.Errorf("mounted: %v", facts.RefreshBlockers)
	}
	refresh := func() {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "systemd-sysext", "refresh").CombinedOutput()
		_, merged := os.Stat("/usr/lib/extension-release.d/extension-release.x")
		after := nodeFacts(t, c, changes, time.Now().String())
		t.Logf("refresh: %v\n%smerged: %t; mounts that are left: %v", err, out, merged == nil, after.RefreshBlockers)
	}
	refresh()
	run(t, "mkdir", "-p", point+"/inner")
	run(t, "mount", "-t", "tmpfs", "tmpfs", point+"/inner")
	if facts := nodeFacts(t, c, changes, "nested"); !slices.Equal(facts.RefreshBlockers, []string{point, point + "/inner"}) {
		t.Errorf("one within another: %v", facts.RefreshBlockers)
	}
	refresh()
}
