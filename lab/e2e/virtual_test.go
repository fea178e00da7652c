//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/virtual"
)

// slowness is how much slower a virtual machine is, with room to spare.
const slowness = "20"

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
	for _, name := range []string{"log", "result.md", "status", "kubeadm"} {
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
	work, err := os.MkdirTemp(env("VIRTUAL_TMP", "/var/tmp"), "e2e-cgroup2-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	machine := virtual.Machine{Disk: filepath.Join(work, "disk"), Memory: "6G", Share: out, Console: console}
	kernel, disk := virtualParts(ctx, t, work)
	machine.Kernel, disk.Script = kernel, script(machine, "TestOneReboot", limit)
	if err := disk.Make(ctx, machine.Disk); err != nil {
		t.Fatal(err)
	}
	t.Logf("the virtual machine boots; what it does is in %s", out)
	if err := machine.Run(ctx); err != nil {
		t.Error(err)
	}
	result, _ := os.ReadFile(filepath.Join(out, "result.md"))
	t.Logf("\n%s", result)
	if status, err := os.ReadFile(filepath.Join(out, "status")); err != nil || strings.TrimSpace(string(status)) != "0" {
		t.Errorf("it did not pass: see %s", filepath.Join(out, "log"))
	}
}

// checkout is where the virtual machine has this project.
const checkout = "/opt/kubectl-upgrade"

// virtualParts returns the kernel, and the disk with all that the story needs.
func virtualParts(ctx context.Context, t *testing.T, work string) (kernel string, disk virtual.Disk) {
	t.Helper()
	cache, err := artifacts.Open(env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), nil)
	if err != nil {
		t.Fatal(err)
	}
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
	parts, err := cache.Virtual(ctx)
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
	return parts.Kernel, virtual.Disk{Rootfs: parts.Rootfs, Copies: copies, Size: "14G"}
}

// script returns what the virtual machine does: run one test, and leave its output and its
// status in the folder that it shares with this machine.
func script(machine virtual.Machine, test string, limit time.Duration) string {
	return fmt.Sprintf(`set -u
%s
exec >/mnt/log 2>&1
uname -a
cat /sys/fs/cgroup/cgroup.controllers
modprobe -a loop overlay squashfs bridge br_netfilter veth nf_conntrack
export LAB_TIME_FACTOR=%s LAB_CACHE=%s E2E_RESULT=/mnt/result.md E2E_KEEP=1 E2E_SHOW=1 HOME=/root
cd %s/lab/e2e
./e2e.test -test.v -test.timeout %s -test.run '^%s$'
status=$?
cp -r /var/lib/kubectl-upgrade-lab/log /mnt/kubeadm
echo $status >/mnt/status
`, machine.Mount("/mnt"), slowness, env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), checkout, limit, test)
}
