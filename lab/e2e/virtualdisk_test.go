//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/iptables"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/virtual"
)

// packetFilter is the kind of iptables that the kernel of virtual machines has.
const packetFilter = "legacy"

// checkout is where the virtual machine has this project.
const checkout = "/opt/kubectl-upgrade"

// make makes the machine's parts: its disk has all that the test needs.
func (s virtualStory) make(ctx context.Context, t *testing.T, machine *virtual.Machine, limit time.Duration) {
	t.Helper()
	allowMappings(t)
	cache, err := artifacts.Open(env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
	disk := virtual.Disk{Script: s.script(*machine, limit), Size: "16G"}
	disk.Copies = s.copies(ctx, t, cache)
	if machine.Clock, err = cache.VirtualClock(ctx); err != nil {
		t.Fatal(err)
	}
	if machine.Rootfs, err = cache.Virtual(ctx); err != nil {
		t.Fatal(err)
	}
	machine.Kernel, disk.Rootfs = artifacts.VirtualKernel, machine.Rootfs
	if err := disk.Make(ctx, machine.Disk); err != nil {
		t.Fatal(err)
	}
}

// copies are what the machine has of this one, these tests among them.
func (s virtualStory) copies(ctx context.Context, t *testing.T, cache *artifacts.Cache) map[string]string {
	t.Helper()
	t.Setenv(iptables.Variable, packetFilter) // of images and nodes
	if _, err := cache.Rootfs(ctx, s.base); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Containerd(ctx, s.base, 0); err != nil {
		t.Fatal(err)
	}
	s.makeVersions(ctx, t, cache)
	copies := map[string]string{}
	for _, folder := range cache.Used() { // not the virtual machine's own
		copies[folder] = folder
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"bin/lab", "bin/lab-web", "bin/kubectl-upgrade", "bin/node-agent.tar", "manifests", "lab/manifests",
	} {
		copies[filepath.Join(checkout, path)] = filepath.Join(root, path)
	}
	if copies[checkout+"/lab/e2e/e2e.test"], err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return copies
}

// makeVersions makes the versions of Kubernetes that the test needs.
func (s virtualStory) makeVersions(ctx context.Context, t *testing.T, cache *artifacts.Cache) {
	t.Helper()
	if _, err := cache.Kubernetes(ctx, strings.TrimPrefix(from, "v")); err != nil {
		t.Fatal(err)
	}
	if len(s.broken) == 0 {
		return
	}
	next, err := cache.Kubernetes(ctx, strings.TrimPrefix(to, "v"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.broken {
		kind, err := artifacts.FindBrokenKind(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cache.BrokenSysext(ctx, next, kind); err != nil {
			t.Fatal(err)
		}
	}
}

// allowMappings lets a process have enough mappings until the test ends: the kernel maps each
// page of a process alone, and an apiserver has more pages than Linux allows mappings.
func allowMappings(t *testing.T) {
	t.Helper()
	const setting, enough = "/proc/sys/vm/max_map_count", 4 << 20
	text, err := os.ReadFile(setting)
	if err != nil {
		t.Fatal(err)
	}
	if had, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || had >= enough {
		return
	}
	if err := os.WriteFile(setting, []byte(strconv.Itoa(enough)), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(setting, text, 0o644) })
}
