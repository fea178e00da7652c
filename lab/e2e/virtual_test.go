//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/virtual"
)

// slowness is how many times slower a virtual machine computes, and runs its clock. It has
// room for a busy host. timeFactor is for what it is even slower at.
const (
	slowness   = 30
	timeFactor = "2"
)

// TestVersion2ControlGroups runs TestOneReboot in a virtual machine that has only version 2
// control groups, whichever this machine has. VIRTUAL_OUT is the folder for its results.
func TestVersion2ControlGroups(t *testing.T) {
	virtualStory{test: "TestOneReboot", name: "e2e-cgroup2"}.run(t)
}

// virtualStory is a test that runs in a virtual machine.
type virtualStory struct {
	// test is run there. name is that of its make target, and of the folder for its results.
	test, name string
	// base is that of the nodes.
	base artifacts.Base
	// broken are the kinds of images of the version to that are published, besides one
	// that works. Without it the version is not needed.
	broken []string
}

func (s virtualStory) run(t *testing.T) {
	t.Helper()
	out, err := filepath.Abs(env("VIRTUAL_OUT", "../../bin/"+s.name))
	if err != nil {
		t.Fatal(err)
	}
	if err := empty(out); err != nil {
		t.Fatal(err)
	}
	limit, err := time.ParseDuration(env("VIRTUAL_LIMIT", "3h"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	work, err := os.MkdirTemp(env("VIRTUAL_TMP", "/var/tmp"), s.name+"-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	machine := virtual.Machine{Disk: filepath.Join(work, "disk"), Memory: "6G", Slowness: slowness, Share: out}
	s.make(ctx, t, &machine, limit)
	page, shared := os.Getenv(compatibilityVariable), filepath.Join(out, compatibilityShared)
	if page != "" {
		copyFile(t, page, shared)
	}
	t.Logf("the virtual machine boots; what it does is in %s", out)
	steps := filepath.Join(out, "result.md")
	if err := runVirtual(ctx, machine, steps); err != nil {
		t.Error(err)
	}
	result, _ := os.ReadFile(steps)
	t.Logf("\n%s", result)
	if status, err := os.ReadFile(filepath.Join(out, "status")); err != nil || strings.TrimSpace(string(status)) != "0" {
		t.Errorf("it did not pass: see %s", filepath.Join(out, "log"))
	}
	if page != "" {
		copyFile(t, shared, page)
	}
}

// compatibilityShared is the page of lab/results/compatibility.md where the virtual machine writes it.
const compatibilityShared = "compatibility.md"

// sharedPage returns the path of that page in the virtual machine, or nothing if this run
// writes no page.
func sharedPage() string {
	if os.Getenv(compatibilityVariable) == "" {
		return ""
	}
	return "/mnt/" + compatibilityShared
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// empty makes the folder, and removes the results of the last run.
func empty(folder string) error {
	for _, pattern := range []string{"log", "steps", "status", "kubeadm", "pods-*", "journal-*", "console-*", compatibilityShared} {
		left, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(folder, 0o755)
}

// runVirtual runs the machine until it powers off, and writes its steps to a page.
func runVirtual(ctx context.Context, machine virtual.Machine, page string) error {
	console, err := os.Create(filepath.Join(machine.Share, "console"))
	if err != nil {
		return err
	}
	defer console.Close()
	machine.Console = console
	running, stop := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() { followed <- followSteps(running, filepath.Join(machine.Share, "steps"), page) }()
	err = machine.Run(ctx)
	stop()
	return errors.Join(err, <-followed)
}

// script returns what the virtual machine does: run the test, and leave its output and its
// status in the folder that it shares with this machine.
func (s virtualStory) script(machine virtual.Machine, limit time.Duration) string {
	return fmt.Sprintf(`set -u
%s
exec >/mnt/log 2>&1
uname -a
cat /sys/fs/cgroup/cgroup.controllers
modprobe -a loop overlay squashfs bridge br_netfilter veth nf_conntrack ip_tables iptable_filter iptable_nat iptable_mangle \
	xt_comment xt_conntrack xt_MASQUERADE xt_mark xt_statistic xt_addrtype ipt_REJECT
export LAB_TIME_FACTOR=%s LAB_IPTABLES=%s LAB_CACHE=%s E2E_RESULT=/mnt/steps E2E_KEEP=1 E2E_SHOW=1 HOME=/root %s=%s
cd %s/lab/e2e
./e2e.test -test.v -test.timeout %s -test.run '^%s$'
status=$?
cp -r /var/lib/kubectl-upgrade-lab/log /mnt/kubeadm
for node in /var/lib/kubectl-upgrade-lab/nodes/*; do
	cp -r $node/upper/var/log/pods /mnt/pods-$(basename $node)
	journalctl -D $node/journal --no-pager >/mnt/journal-$(basename $node)
	cp $node/console /mnt/console-$(basename $node)
done
echo $status >/mnt/status
`, machine.Mount("/mnt"), timeFactor, packetFilter, env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"),
		compatibilityVariable, sharedPage(), checkout, limit, s.test)
}
