//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestSoftReboot installs a patch by soft reboots while a web service is asked. One node gets
// an image first that fails; the operating system of another asks for a reboot, which it gets.
func TestSoftReboot(t *testing.T) {
	s := &softReboots{testCluster: newCluster(t, 1, 3, "--update-engine")}
	s.startClient(t)
	s.apply(t, scenario.OpenSchedule)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"the control plane soft-reboots", s.controlPlane},
		{"the guard returns a node whose new kubelet fails", s.broken},
		{"the workers soft-reboot, and one reboots", s.workers},
		{"the one says why it rebooted", s.checkFallback},
		{"the promises held at every moment", s.checkPromises},
		{"the web service answered every request", s.checkServed},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// softReboots is the cluster of TestSoftReboot.
type softReboots struct{ *testCluster }

// userspace is what identifies a boot and a soft reboot of a node.
type userspace struct {
	bootID      string
	softReboots int
}

func (s *softReboots) userspace(t *testing.T, name string) userspace {
	t.Helper()
	bootID := s.must(t)(s.Exec(s.ctx, name, "cat", "/proc/sys/kernel/random/boot_id"))
	count := strings.TrimSpace(s.must(t)(s.Exec(s.ctx, name, "systemctl", "show", "--value", "--property=SoftRebootsCount")))
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatalf("%s: systemd counts no soft reboots: %v", name, err)
	}
	return userspace{strings.TrimSpace(bootID), n}
}

// checkSoftRebooted checks that a node was soft-rebooted once, and runs the patch.
func (s *softReboots) checkSoftRebooted(t *testing.T, name string, before userspace) {
	t.Helper()
	before.softReboots++
	if after := s.userspace(t, name); after != before {
		t.Errorf("%s: got boot and soft reboots %v, want %v", name, after, before)
	}
	if got, why := s.method(name); got != v1alpha1.MethodSoftReboot {
		t.Errorf("%s: got method %s (%s), want SoftReboot", name, got, why)
	}
	s.checkRuns(t, name)
	// What /run keeps of before does not keep containers from starting.
	s.must(t)(s.Exec(s.ctx, name, "findmnt", "/var/lib/containerd"))
}

// checkRuns checks that the node has merged the patch, and that its pods run.
func (s *softReboots) checkRuns(t *testing.T, name string) {
	t.Helper()
	s.checkActive(t, name, to)
	merged := s.must(t)(s.Exec(s.ctx, name, "cat", "/usr/local/share/kubernetes-version"))
	if strings.TrimSpace(merged) != to {
		t.Errorf("%s has merged %s, want "+to, name, merged)
	}
	s.eventually(t, 2*time.Minute, "the pods of "+name+" are Ready", func() error {
		pods, err := s.kube.CoreV1().Pods(corev1.NamespaceAll).List(s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			if pod.Status.Phase != corev1.PodSucceeded && !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				return fmt.Errorf("%s/%s is %s, and not Ready", pod.Namespace, pod.Name, pod.Status.Phase)
			}
		}
		return nil
	})
	s.guardGone(t, name)
}

func (s *softReboots) controlPlane(t *testing.T) {
	before := s.userspace(t, "cp1")
	s.must(t)(s.Lab.Lab(s.ctx, "publish", to))
	time.Sleep(indexRead)
	s.upgradeOne(t, "cp1-good", "", brokenImage{node: "cp1", method: v1alpha1.MethodSoftReboot, limit: 180})
	s.eventually(t, 10*time.Minute, "cp1 runs "+to, func() error { return s.succeeded("cp1-good") })
	s.checkSoftRebooted(t, "cp1", before)
}

func (s *softReboots) broken(t *testing.T) {
	image := brokenImage{"crash", "w1", v1alpha1.MethodSoftReboot, "kubelet|not reported", 1, 60}
	s.guarded(t, image.name(), "", image)
	if got, why := s.method("w1"); got != v1alpha1.MethodSoftReboot {
		t.Errorf("w1: got method %s (%s), want SoftReboot", got, why)
	}
}

// bySoftReboot upgrades every node in place of the upgrade that the guard rolled back.
const bySoftReboot = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: ` + to + `}
spec:
  version: ` + to + `
  retryOf: {name: w1-crash-softreboot}
  strategy: {method: SoftReboot, settleSeconds: 5, drain: {timeoutSeconds: 120}}
`

func (s *softReboots) workers(t *testing.T) {
	s.must(t)(s.Lab.Lab(s.ctx, "update-engine", "w3", "need-reboot"))
	s.awaitRebootRequired(t, "w3", "update_engine", time.Minute)
	before := map[string]userspace{}
	for _, name := range s.nodes {
		before[name] = s.userspace(t, name)
	}
	s.must(t)(s.Lab.Lab(s.ctx, "publish", to))
	time.Sleep(indexRead)
	s.apply(t, bySoftReboot)
	s.eventually(t, 15*time.Minute, "the upgrade has succeeded", func() error { return s.succeeded(to) })
	for _, name := range []string{"w1", "w2"} {
		s.checkSoftRebooted(t, name, before[name])
	}
	s.checkRuns(t, "w3")
	if after := s.userspace(t, "w3"); after.bootID == before["w3"].bootID {
		t.Error("w3 has not rebooted")
	}
	if after := s.userspace(t, "cp1"); after != before["cp1"] {
		t.Errorf("cp1: got boot and soft reboots %v, want %v: it was up to date", after, before["cp1"])
	}
	scenario.Timeline(os.Stdout, s.nodeRecords(t, to))
}

func (s *softReboots) checkFallback(t *testing.T) {
	if got, why := s.method("w3"); got != v1alpha1.MethodReboot || !strings.Contains(why, "update_engine") {
		t.Errorf("w3: got method %s (%s), want Reboot because of update_engine", got, why)
	}
	if r := s.nodeRecord(t, to, "w3"); !strings.Contains(r.MethodMessage, "update_engine") || r.RebootSeconds == 0 || r.SoftRebootSeconds != 0 {
		t.Errorf("w3's record: %q, reboot %d s, soft reboot %d s", r.MethodMessage, r.RebootSeconds, r.SoftRebootSeconds)
	}
	if r := s.nodeRecord(t, to, "w2"); r.MethodMessage != "" || r.RebootSeconds != 0 || r.SoftRebootSeconds == 0 {
		t.Errorf("w2's record: %q, reboot %d s, soft reboot %d s", r.MethodMessage, r.RebootSeconds, r.SoftRebootSeconds)
	}
	node, err := s.ours.NodeUpgrades.Get(s.ctx, "w3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if node.Status.Reboot.Required {
		t.Errorf("w3's operating system still requires a reboot: %s", node.Status.Reboot.Message)
	}
	event, finding := false, false
	for _, m := range s.recorder.Moments() {
		var e corev1.Event
		var u v1alpha1.ClusterUpgrade
		if m.Resource == "events" && record.Convert(m, &e) == nil && e.InvolvedObject.Name == "w3" {
			event = event || strings.Contains(e.Message, "reboots instead of soft-rebooting")
		}
		if m.Resource == v1alpha1.ClusterUpgrades.Resource && record.Convert(m, &u) == nil {
			finding = finding || slices.ContainsFunc(u.Status.Findings, func(f v1alpha1.Finding) bool { return f.ID == "soft-reboot" && strings.Contains(f.Message, "w3") })
		}
	}
	if !event || !finding {
		t.Errorf("w3 has an event that it reboots %t, and the upgrade a finding about it %t; want both", event, finding)
	}
}

func (s *softReboots) checkPromises(t *testing.T) {
	s.report(t)(record.Promises(s.recorder.Moments(), 1))
	s.report(t)(record.Skew(s.recorder.Moments()))
}
