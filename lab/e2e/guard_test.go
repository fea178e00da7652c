//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// outOfService is how long a node may be out of service that the guard returns to its
// former version, from its reboot (or the restart of its kubelet) on.
const outOfService = 5 * time.Minute

// indexRead is how long the coordinator takes at most to read a changed index: the lab's
// policy has an interval of 2 s. An upgrade that is triggered before fixes the former image.
const indexRead = 10 * time.Second

// brokenImage is an upgrade of one node to an image that fails once it is merged.
type brokenImage struct {
	kind, node string
	method     v1alpha1.Method
	// why is what the guard finds wrong.
	why string
	// reboots is how often the node reboots.
	reboots int
	// limit is spec.strategy.guardSeconds.
	limit int
}

var brokenImages = []brokenImage{
	{"crash", "cp1", v1alpha1.MethodReboot, "kubelet|not reported", 2, 180},
	{"no-static-pods", "cp1", v1alpha1.MethodReboot, "static pods do not run", 2, 60},
	{"crash", "w1", v1alpha1.MethodReboot, "kubelet|not reported", 2, 180},
	{"hang", "w1", v1alpha1.MethodReboot, "kubelet|not reported", 2, 60},
	{"not-ready", "w1", v1alpha1.MethodReboot, "not Ready", 2, 60},
	{"no-merge", "w1", v1alpha1.MethodReboot, "was not merged", 1, 60},
	{"no-network", "w1", v1alpha1.MethodReboot, "no network", 2, 60},
	{"crash", "w1", v1alpha1.MethodSoftReboot, "kubelet|not reported", 1, 60},
	{"no-merge", "w1", v1alpha1.MethodSoftReboot, "was not merged", 0, 60},
	{"crash", "w1", v1alpha1.MethodRestart, "kubelet|not reported", 0, 60},
	{"hang", "w1", v1alpha1.MethodRestart, "kubelet", 0, 60},
	{"no-network", "w1", v1alpha1.MethodRestart, "no network", 1, 60},
}

// TestGuard upgrades nodes to images that pass every check and fail once they are merged.
// The guard returns each node to its former version. FAULT_CASES is a regular expression
// that selects cases, such as "cp1-crash" (`make e2e-faults CASE=cp1-crash`).
func TestGuard(t *testing.T) {
	passed := passedCases(t)
	cases := slices.DeleteFunc(guardCases(regexp.MustCompile(env("FAULT_CASES", ""))), func(i brokenImage) bool { return passed[i.name()] })
	if len(cases) == 0 {
		return // all have passed, or it selects cases of TestFaults, which fails if there are none
	}
	c := newCluster(t, 1, 2)
	c.apply(t, scenario.OpenSchedule)
	former := "" // the last upgrade that was rolled back
	for _, image := range cases {
		if image.node != "cp1" {
			former = c.goodControlPlane(t, former)
		}
		if !t.Run(image.name(), func(t *testing.T) { c.guarded(t, image.name(), former, image) }) {
			break
		}
		former = image.name()
	}
	c.report(t)(record.Promises(c.recorder.Moments(), 1))
}

// guardCases returns the selected cases.
func guardCases(selected *regexp.Regexp) []brokenImage {
	return slices.DeleteFunc(slices.Clone(brokenImages), func(i brokenImage) bool { return !selected.MatchString(i.name()) })
}

func (i brokenImage) name() string {
	return strings.ToLower(fmt.Sprintf("%s-%s-%s", i.node, i.kind, i.method))
}

// goodControlPlane upgrades the control plane alone, so that a worker can follow. It
// returns the upgrade that the next one retries.
func (c *testCluster) goodControlPlane(t *testing.T, former string) string {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, "cp1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Status.NodeInfo.KubeletVersion == to {
		return former
	}
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	time.Sleep(indexRead)
	c.upgradeOne(t, "cp1-good", former, brokenImage{node: "cp1", method: v1alpha1.MethodReboot, limit: 180})
	c.eventually(t, 10*time.Minute, "cp1 runs "+to, func() error { return c.succeeded("cp1-good") })
	return ""
}

// succeeded returns an error unless the upgrade has succeeded.
func (c *testCluster) succeeded(name string) error {
	u, err := c.ours.ClusterUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err == nil && u.Status.Outcome != v1alpha1.OutcomeSucceeded {
		err = fmt.Errorf("upgrade %s has the outcome %q", name, u.Status.Outcome)
	}
	return err
}

// upgradeOne upgrades one node in place of the upgrade that was rolled back, if any.
func (c *testCluster) upgradeOne(t *testing.T, name, former string, image brokenImage) {
	t.Helper()
	retry := ""
	if former != "" {
		retry = "retryOf: {name: " + former + "}"
	}
	c.apply(t, fmt.Sprintf(`
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: %s}
spec:
  version: %s
  %s
  nodeSelector: {matchLabels: {kubernetes.io/hostname: %s}}
  ignoreChecks: [{id: rehearsal, comment: it finds an image that is not merged before the guard}]
  strategy: {method: %s, settleSeconds: 5, guardSeconds: %d, drain: {timeoutSeconds: 120}}
`, name, to, retry, image.node, image.method, image.limit))
}

// guarded upgrades a node to a broken image, and waits until it serves its former version.
func (c *testCluster) guarded(t *testing.T, name, former string, image brokenImage) {
	row := row{id: name, happened: fmt.Sprintf("%s is upgraded by method %s to an image of kind %s", image.node, image.method, image.kind)}
	caseBegan := time.Now()
	defer func() {
		if !c.isVoid(t, caseBegan) {
			c.writeGuardRow(t, row)
		}
	}()
	boots := c.boots(t, image.node)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to, "--broken", image.kind))
	time.Sleep(indexRead)
	c.upgradeOne(t, name, former, image)
	c.eventually(t, 10*time.Minute, image.node+" has activated the image", func() error {
		return c.inStep(name, image.node, v1alpha1.StepRebooting, v1alpha1.StepRestarting, v1alpha1.StepVerifying, v1alpha1.StepRolledBack)
	})
	began := time.Now()
	c.eventually(t, outOfService, image.node+" serves "+from+" again", func() error { return c.serves(name, image.node) })
	row.took = time.Since(began)
	t.Logf("%s served %s again %s after the image was activated", image.node, from, row.took.Round(time.Second))
	says := c.awaitStatus(t, v1alpha1.ReasonRolledBack, image.why, image.node)[image.node]
	row.said = fmt.Sprintf("%s %s: %s", image.node, says.Reason, says.Message)
	node, err := c.ours.NodeUpgrades.Get(c.ctx, image.node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Status.KubeletLog == "" {
		t.Error("the status has no journal of the kubelet")
	}
	t.Logf("the kubelet's journal:\n%s", node.Status.KubeletLog)
	got := c.boots(t, image.node) - boots
	if got != image.reboots {
		t.Errorf("%s rebooted %d times, want %d", image.node, got, image.reboots)
	}
	row.happened += fmt.Sprintf("; the guard returned it to %s with %d reboots in all", from, got)
	c.guardGone(t, image.node)
}

// writeGuardRow writes the case's row, with the promises of the whole run so far.
func (c *testCluster) writeGuardRow(t *testing.T, r row) {
	broken, err := record.Promises(c.recorder.Moments(), 1)
	if err != nil {
		t.Fatal(err)
	}
	r.promises = promises(broken)
	writeRow(t, r)
}

// boots returns how often a node has booted, according to its own journal: a kubelet that
// does not run reports no boot.
func (c *testCluster) boots(t *testing.T, node string) int {
	t.Helper()
	for range 20 {
		list := c.must(t)(c.Exec(c.ctx, node, "journalctl", "--list-boots", "--no-pager", "--quiet"))
		if n := strings.Count(list, "\n"); n > 0 {
			return n
		}
		time.Sleep(500 * time.Millisecond) // right after a soft reboot the journal has not been opened yet
	}
	t.Fatalf("the journal of %s knows no boot", node)
	return 0
}

// inStep returns an error unless a node is in one of the steps, in that upgrade.
func (c *testCluster) inStep(upgrade, name string, steps ...v1alpha1.Step) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, step := range steps {
		if node.Status.Step == step && node.Status.Upgrade != nil && node.Status.Upgrade.Name == upgrade {
			return nil
		}
	}
	return errors.New(describe(*node))
}

// serves returns an error unless the upgrade was rolled back on the node, which is in
// service.
func (c *testCluster) serves(upgrade, name string) error {
	if err := c.inStep(upgrade, name, v1alpha1.StepRolledBack); err != nil {
		return err
	}
	node, err := c.kube.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !node.Spec.Unschedulable && node.Status.NodeInfo.KubeletVersion == from {
			return nil
		}
	}
	return fmt.Errorf("%s: unschedulable %t, kubelet %s", name, node.Spec.Unschedulable, node.Status.NodeInfo.KubeletVersion)
}

// guardGone checks that nothing of the guard is left on the node.
func (c *testCluster) guardGone(t *testing.T, node string) {
	t.Helper()
	left := c.must(t)(c.Exec(c.ctx, node, "find", "/etc/systemd/system", "/opt/kubectl-upgrade/state", "/var/lib/kubelet", "/etc/kubernetes",
		"-maxdepth", "2", "-name", "*guard.service", "-o", "-name", "guard-armed", "-o", "-name", ".kubectl-upgrade-reserve"))
	if left != "" {
		t.Errorf("left on %s:\n%s", node, left)
	}
}
