//go:build integration

package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func connect(t *testing.T) *host.Client {
	c := host.NewClient(host.Root, "", verb.Failures())
	c.SetProgram(host.Program(host.Root)) // this test's own program knows no verb
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func request(t *testing.T, v verb.Verb, key string, args any) verb.Request {
	t.Helper()
	r, err := verb.NewRequest(v, key, args)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start(t *testing.T, c *host.Client, r verb.Request, o verb.Options) {
	t.Helper()
	entry, _ := verb.Lookup(r.Verb)
	o.Direct = entry.Direct
	if err := c.Start(t.Context(), r, o); err != nil {
		t.Fatal(err)
	}
}

// finish waits until a signal reports that a verb has ended.
func finish(t *testing.T, c *host.Client, changes <-chan host.Change, v verb.Verb) *verb.Result {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		running, last, err := c.Last(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		if !running && last != nil {
			return last
		}
		select {
		case <-changes:
		case <-timeout:
			t.Fatalf("host verb %s: no signal reported its end", v)
		}
	}
}

func follow(t *testing.T, c *host.Client) <-chan host.Change {
	t.Helper()
	changes, err := c.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func TestNothingRequested(t *testing.T) {
	running, last, err := connect(t).Last(t.Context(), verb.Stage)
	if running || last != nil || err != nil {
		t.Errorf("%v %v %v", running, last, err)
	}
}

// TestQuestionIsNoChange checks that a question about a unit that does not exist makes no signal: the agent asks at each.
func TestQuestionIsNoChange(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	for range len(verb.Failures()) + 1 { // all at the beginning
		<-changes
	}
	for range 3 {
		if running, _, err := c.Last(t.Context(), verb.Stage); running || err != nil {
			t.Errorf("running %t, %v", running, err)
		}
	}
	select {
	case change := <-changes:
		t.Errorf("asking about a unit is a change: %+v", change)
	case <-time.After(300 * time.Millisecond):
	}
}

func TestFacts(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	start(t, c, request(t, verb.Facts, "1", nil), verb.Options{})
	result := finish(t, c, changes, verb.Facts)
	var facts verb.HostFacts
	if err := result.Decode(&facts); err != nil {
		t.Fatal(err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if facts.Unsupported != nil || facts.Active != "v1.34.3" || facts.Merged != "v1.34.3" || facts.BootID != strings.TrimSpace(string(boot)) {
		t.Errorf("%+v", facts)
	}
	if !slices.Equal(facts.Installed, []string{"v1.34.3", "v1.34.4"}) {
		t.Errorf("installed: %v", facts.Installed)
	}
	if result.Key != "1" || !result.OK {
		t.Errorf("%+v", result)
	}
}

func upgradeArgs(t *testing.T) verb.KubeadmArgs {
	t.Helper()
	data, err := os.ReadFile(host.ImagePath("v1.34.4", host.Architecture()))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return verb.KubeadmArgs{Version: "v1.34.4", Command: v1alpha1.KubeadmNode, SHA256: hex.EncodeToString(sum[:])}
}

// fromImage are the options of a verb that works from a staged image.
func fromImage(version string) verb.Options {
	return verb.Options{MountImage: version, RuntimeMax: time.Minute}
}

func TestKubeadmFromStagedImage(t *testing.T) {
	if err := os.MkdirAll("/etc/kubernetes", 0o755); err != nil {
		t.Fatal(err)
	}
	c := connect(t)
	changes := follow(t, c)
	start(t, c, request(t, verb.Kubeadm, "k", upgradeArgs(t)), fromImage("v1.34.4"))
	result := finish(t, c, changes, verb.Kubeadm)
	if !result.OK {
		t.Fatalf("%+v", result)
	}
	for _, want := range []string{"kubeadm upgrade node", "kubelet from PATH: " + host.ImageMount + "/usr/bin/kubelet"} {
		if !strings.Contains(result.LogTail, want) {
			t.Errorf("no %q in %q", want, result.LogTail)
		}
	}
	done, err := host.OnNode.KubeadmDone()
	if err != nil || done == nil || done.Version != "v1.34.4" {
		t.Errorf("%+v %v", done, err)
	}
	if out, err := exec.CommandContext(t.Context(), "findmnt", host.ImageMount).CombinedOutput(); err == nil {
		t.Errorf("the image is mounted outside the unit: %s", out)
	}
}

// TestKilled checks that a killed unit leaves a result that says so, without the agent's pod.
func TestKilled(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	if err := os.WriteFile("/run/hang", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	start(t, c, request(t, verb.Kubeadm, "killed", upgradeArgs(t)), fromImage("v1.34.4"))
	for !busy(t, "sleep") {
		time.Sleep(50 * time.Millisecond)
	}
	// Starting it again while it runs does nothing.
	start(t, c, request(t, verb.Kubeadm, "other", upgradeArgs(t)), fromImage("v1.34.4"))
	if running, last, err := c.Last(t.Context(), verb.Kubeadm); !running || last != nil || err != nil {
		t.Errorf("%v %v %v", running, last, err)
	}
	if out, err := exec.CommandContext(t.Context(), "systemctl", "kill", "-s", "KILL", host.Unit(verb.Kubeadm)).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	result := finish(t, c, changes, verb.Kubeadm)
	if result.OK || result.Key != "killed" || !strings.Contains(result.Message, "signal") || result.Reason != v1alpha1.ReasonKubeadmFailed {
		t.Errorf("%+v", result)
	}
	if err := os.Remove("/run/hang"); err != nil {
		t.Fatal(err)
	}
	start(t, c, request(t, verb.Kubeadm, "again", upgradeArgs(t)), fromImage("v1.34.4"))
	if result := finish(t, c, changes, verb.Kubeadm); !result.OK || result.Key != "again" {
		t.Errorf("%+v", result)
	}
}

// TestMountFails checks a unit in which no program can run, not even the one that records its
// end (226/NAMESPACE).
func TestMountFails(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	start(t, c, request(t, verb.Kubeadm, "m", upgradeArgs(t)), fromImage("v1.34.9"))
	result := finish(t, c, changes, verb.Kubeadm)
	if result.OK || result.Key != "m" || !strings.Contains(result.Message, "journal") {
		t.Errorf("%+v", result)
	}
}

func TestRuntimeMax(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	if err := os.WriteFile("/run/hang", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove("/run/hang") }()
	options := fromImage("v1.34.4")
	options.RuntimeMax = 15 * time.Second // kubeadm, which hangs, has begun by then
	start(t, c, request(t, verb.Kubeadm, "slow", upgradeArgs(t)), options)
	result := finish(t, c, changes, verb.Kubeadm)
	if result.OK || result.Reason != v1alpha1.ReasonKubeadmFailed || !strings.Contains(result.Message, "stopped") {
		t.Errorf("%+v", result)
	}
}

func busy(t *testing.T, program string) bool {
	t.Helper()
	return exec.CommandContext(t.Context(), "pgrep", "-x", program).Run() == nil
}

// TestRebootRefused checks that the agent gets an error if a program inhibits the reboot. Since
// systemd 257 an inhibitor also applies to root.
func TestRebootRefused(t *testing.T) {
	inhibitor := exec.CommandContext(t.Context(), "systemd-inhibit", "--what=shutdown", "--mode=block", "--who=test", "--why=test", "sleep", "60")
	if err := inhibitor.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inhibitor.Process.Kill() }()
	for {
		if out, _ := exec.CommandContext(t.Context(), "systemd-inhibit", "--list", "--no-legend").Output(); strings.Contains(string(out), "test") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	err := connect(t).Reboot(t.Context())
	if host.ReasonOf(err, "") != v1alpha1.ReasonRebootFailed {
		t.Errorf("logind accepted a reboot in spite of an inhibitor: %v", err)
	}
}

// TestBusRestart restarts the system bus, which systemd itself survives.
func TestBusRestart(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	for range 1 + len(verb.Table) {
		<-changes
	}
	if out, err := exec.CommandContext(t.Context(), "systemctl", "kill", "-s", "KILL", "dbus.service").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 1 + len(verb.Table) {
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatal("no change after the bus was back")
		}
	}
	start(t, c, request(t, verb.Facts, "after", nil), verb.Options{})
	if result := finish(t, c, changes, verb.Facts); !result.OK || result.Key != "after" {
		t.Errorf("%+v", result)
	}
}

// TestRefusedStartLeavesNoFailure checks that a unit which systemd refuses to start leaves no
// result, and that the next request is handled like the first.
func TestRefusedStartLeavesNoFailure(t *testing.T) {
	c := connect(t)
	changes := follow(t, c)
	refused := verb.Options{MountImage: strings.Repeat("x", 5000)} // no path is that long
	err := c.Start(t.Context(), request(t, verb.Facts, "refused", nil), refused)
	if host.ReasonOf(err, "") != v1alpha1.ReasonHostUnreachable {
		t.Fatalf("got %v, want systemd's refusal", err)
	}
	if running, last, err := c.Last(t.Context(), verb.Facts); running || last != nil || err != nil {
		t.Errorf("running %v, %+v, %v; want that there was none", running, last, err)
	}
	start(t, c, request(t, verb.Facts, "again", nil), verb.Options{})
	if result := finish(t, c, changes, verb.Facts); !result.OK || result.Key != "again" {
		t.Errorf("%+v", result)
	}
}
