package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hierarchy makes a folder that looks like version 2's, with these controllers.
func hierarchy(t *testing.T, controllers string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte(controllers+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestDetect(t *testing.T) {
	for name, test := range map[string]struct {
		memory, root int64
		controllers  string
		want         Version
		complaint    string
	}{
		"version 1":         {memory: unix.CGROUP_SUPER_MAGIC, root: unix.TMPFS_MAGIC, want: V1},
		"version 2":         {root: unix.CGROUP2_SUPER_MAGIC, memory: unix.CGROUP2_SUPER_MAGIC, controllers: "cpu io memory pids", want: V2},
		"memory turned off": {root: unix.CGROUP2_SUPER_MAGIC, controllers: "cpuset cpu io pids", complaint: "boot without cgroup_disable=memory"},
		"no control groups": {root: unix.SYSFS_MAGIC, complaint: "mount -t cgroup2"},
	} {
		root := hierarchy(t, test.controllers)
		got, err := detect(root, func(path string) int64 {
			if path == root {
				return test.root
			}
			return test.memory
		})
		if got != test.want || (err == nil) != (test.complaint == "") {
			t.Errorf("%s: got version %d and error %v, want %d", name, got, err, test.want)
		}
		if err != nil && (!strings.Contains(err.Error(), test.complaint) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: got error %v, want one line with %q", name, err, test.complaint)
		}
	}
}

func TestControllersAreEnabledFromTheRootDown(t *testing.T) {
	g := Groups{V2, hierarchy(t, "cpuset cpu io memory pids rdma"), "w1"}
	for range 2 {
		pods := filepath.Join(g.path(""), "payload", "kubepods.slice")
		if err := os.MkdirAll(pods, 0o755); err != nil { // of the boot before
			t.Fatal(err)
		}
		if err := g.Renew(); err != nil {
			t.Fatal(err)
		}
		for _, around := range []string{g.root, filepath.Dir(g.path(""))} {
			file := filepath.Join(around, "cgroup.subtree_control")
			got, err := os.ReadFile(file)
			if want := "+cpuset +cpu +io +memory +pids"; err != nil || string(got) != want {
				t.Errorf("%s: %q, %v; want %q", around, got, err, want)
			}
			_ = os.Remove(file)
		}
		// The node enables controllers here, which needs a group without processes.
		if inside, err := os.ReadDir(g.path("")); err != nil || len(inside) > 0 {
			t.Errorf("the node's group has %v, %v; want nothing in it", inside, err)
		}
	}
}

func TestANodeStartsInItsGroup(t *testing.T) {
	g := Groups{V2, hierarchy(t, "cpu memory pids"), "w1"}
	cmd := exec.CommandContext(t.Context(), "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := g.Join(cmd); err == nil {
		t.Error("joining a group that is not there is no error")
	}
	if err := g.Renew(); err != nil {
		t.Fatal(err)
	}
	done, err := g.Join(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var opened, group unix.Stat_t
	if err := unix.Fstat(cmd.SysProcAttr.CgroupFD, &opened); err != nil {
		t.Fatal(err)
	}
	if err := unix.Stat(g.path(""), &group); err != nil {
		t.Fatal(err)
	}
	if !cmd.SysProcAttr.UseCgroupFD || opened.Ino != group.Ino || cmd.SysProcAttr.Pdeathsig != syscall.SIGKILL {
		t.Errorf("got %+v, want the group %s, and what was there before", cmd.SysProcAttr, g.path(""))
	}
	v1 := exec.CommandContext(t.Context(), "true")
	if _, err := (Groups{V1, g.root, "w1"}).Join(v1); err != nil || v1.SysProcAttr != nil {
		t.Errorf("version 1: got %+v, %v", v1.SysProcAttr, err)
	}
}

func TestANewCpusetHasItsParentsProcessors(t *testing.T) {
	root := t.TempDir()
	for setting, value := range map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"} {
		if err := os.WriteFile(filepath.Join(root, setting), []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	group := filepath.Join(root, lab)
	for range 2 {
		if err := makeV1(group); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(group, "cpuset.cpus")); err != nil || string(got) != "0-1\n" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

func TestMemory(t *testing.T) {
	for version, stat := range map[Version]string{
		V1: "rss 1\ntotal_cache 9\ntotal_rss 4711\n",
		V2: "anon 4711\nanon_thp 9\n",
	} {
		g := Groups{version, t.TempDir(), "w1"}
		hierarchy := map[Version]string{V1: "memory", V2: ""}[version]
		if err := os.MkdirAll(g.path(hierarchy), 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(g.path(hierarchy), "memory.stat")
		if err := os.WriteFile(file, []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := g.Memory(); err != nil || got != 4711 {
			t.Errorf("version %d: got %d, %v", version, got, err)
		}
	}
}

func TestGroupsGoFromTheInsideOut(t *testing.T) {
	top := filepath.Join(t.TempDir(), "w1")
	pods := filepath.Join(top, "kubepods.slice", "pod1")
	for _, itself := range []bool{false, true} {
		if err := os.MkdirAll(pods, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := remove(top, itself); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Dir(pods)); !os.IsNotExist(err) {
			t.Error("what a boot left is there")
		}
		if _, err := os.Stat(top); os.IsNotExist(err) != itself {
			t.Errorf("removing itself: %v; the group: %v", itself, err)
		}
	}
	if err := remove(top, true); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
}

func TestThaw(t *testing.T) {
	for version, want := range map[Version]string{V1: "THAWED", V2: "FROZEN"} {
		g := Groups{version, t.TempDir(), "w1"}
		if err := g.Thaw(); err != nil {
			t.Errorf("version %d: without groups: %v", version, err)
		}
		container := filepath.Join(g.path("freezer"), "kubepods.slice", "container.scope")
		if err := os.MkdirAll(container, 0o755); err != nil {
			t.Fatal(err)
		}
		state := filepath.Join(container, "freezer.state")
		if err := os.WriteFile(state, []byte("FROZEN"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := g.Thaw(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(state); err != nil || string(got) != want {
			t.Errorf("version %d: got %q, %v; want %q", version, got, err, want)
		}
	}
}
