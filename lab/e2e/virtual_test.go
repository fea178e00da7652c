//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/iptables"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/virtual"
)

// slowness is how many times slower a virtual machine computes, and runs its clock. It has
// room for a busy host. timeFactor is for what it is even slower at.
const (
	slowness   = 30
	timeFactor = "3"
)

// packetFilter is the kind of iptables that its kernel has.
const packetFilter = "legacy"

// TestVersion2ControlGroups runs TestOneReboot in a virtual machine that has only version 2
// control groups, whichever this machine has. VIRTUAL_OUT is the folder for its results.
func TestVersion2ControlGroups(t *testing.T) {
	out, err := filepath.Abs(env("VIRTUAL_OUT", "../../bin/e2e-cgroup2"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"log", "steps", "result.md", "status", "kubeadm"} {
		_ = os.RemoveAll(filepath.Join(out, name))
	}
	limit, err := time.ParseDuration(env("VIRTUAL_LIMIT", "3h"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	console, err := os.Create(filepath.Join(out, "console"))
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	allowMappings(t)
	work, err := os.MkdirTemp(env("VIRTUAL_TMP", "/var/tmp"), "e2e-cgroup2-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	machine := virtual.Machine{Disk: filepath.Join(work, "disk"), Memory: "6G", Slowness: slowness, Share: out, Console: console}
	cache, err := artifacts.Open(env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
	disk := virtualDisk(ctx, t, cache, work)
	machine.Rootfs, machine.Kernel = disk.Rootfs, artifacts.VirtualKernel
	if machine.Clock, err = cache.VirtualClock(ctx); err != nil {
		t.Fatal(err)
	}
	disk.Script = script(machine, "TestOneReboot", limit)
	if err := disk.Make(ctx, machine.Disk); err != nil {
		t.Fatal(err)
	}
	t.Logf("the virtual machine boots; what it does is in %s", out)
	running, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	page := filepath.Join(out, "result.md")
	go func() { followed <- followSteps(running, filepath.Join(out, "steps"), page) }()
	if err := machine.Run(ctx); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	result, _ := os.ReadFile(page)
	t.Logf("\n%s", result)
	if status, err := os.ReadFile(filepath.Join(out, "status")); err != nil || strings.TrimSpace(string(status)) != "0" {
		t.Errorf("it did not pass: see %s", filepath.Join(out, "log"))
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

// checkout is where the virtual machine has this project.
const checkout = "/opt/kubectl-upgrade"

// virtualDisk returns the disk with all that the story needs.
func virtualDisk(ctx context.Context, t *testing.T, cache *artifacts.Cache, work string) virtual.Disk {
	t.Helper()
	t.Setenv(iptables.Variable, packetFilter) // of images and nodes
	if _, err := cache.Containerd(ctx, "", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Kubernetes(ctx, strings.TrimPrefix(from, "v")); err != nil {
		t.Fatal(err)
	}
	copies := map[string]string{}
	for _, folder := range cache.Used() {
		copies[folder] = folder
	}
	rootfs, err := cache.Virtual(ctx)
	if err != nil {
		t.Fatal(err)
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
	tests := filepath.Join(work, "e2e.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "e2e", "-ldflags", "-s -w", "-o", tests, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the tests: %v: %s", err, out)
	}
	copies[checkout+"/lab/e2e/e2e.test"] = tests
	return virtual.Disk{Rootfs: rootfs, Copies: copies, Size: "14G"}
}

// script returns what the virtual machine does: run one test, and leave its output and its
// status in the folder that it shares with this machine.
func script(machine virtual.Machine, test string, limit time.Duration) string {
	return fmt.Sprintf(`set -u
%s
exec >/mnt/log 2>&1
uname -a
cat /sys/fs/cgroup/cgroup.controllers
modprobe -a loop overlay squashfs bridge br_netfilter veth nf_conntrack ip_tables iptable_filter iptable_nat iptable_mangle \
	xt_comment xt_conntrack xt_MASQUERADE xt_mark xt_statistic xt_addrtype ipt_REJECT
export LAB_TIME_FACTOR=%s LAB_IPTABLES=%s LAB_CACHE=%s E2E_RESULT=/mnt/steps E2E_KEEP=1 E2E_SHOW=1 HOME=/root
cd %s/lab/e2e
./e2e.test -test.v -test.timeout %s -test.run '^%s$'
status=$?
cp -r /var/lib/kubectl-upgrade-lab/log /mnt/kubeadm
for node in /var/lib/kubectl-upgrade-lab/nodes/*; do
	cp -r $node/upper/var/log/pods /mnt/pods-$(basename $node)
	journalctl -D $node/journal --no-pager >/mnt/journal-$(basename $node)
done
echo $status >/mnt/status
`, machine.Mount("/mnt"), timeFactor, packetFilter, env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), checkout, limit, test)
}
