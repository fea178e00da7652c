package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func bySoftReboot(spec *v1alpha1.NodeUpgradeSpec) { spec.Method = v1alpha1.MethodSoftReboot }

// TestSoftReboot checks that a soft reboot has the steps of a reboot, and that the node is
// verified by systemd's count, as the boot ID stays.
func TestSoftReboot(t *testing.T) {
	c := newCluster(t, "agent-soft")
	c.kubelet()
	c.pod("default", "web-"+c.node, replicated)
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNode, bySoftReboot)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Versions.Kubelet != "v1.34.4" || status.Method != v1alpha1.MethodSoftReboot || status.Retry.Attempts != 1 {
		t.Errorf("status %+v", status)
	}
	if c.host.RebootCount() != 0 || c.host.SoftRebootCount() != 1 {
		t.Errorf("got %d reboots and %d soft reboots, want one soft reboot", c.host.RebootCount(), c.host.SoftRebootCount())
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate"}, c.host.Verbs()); diff != "" {
		t.Errorf("work on the host:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"in service", "cordoned by us, slot-0", "in service"}, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
	c.awaitEvents("UpgradeRebooting", "UpgradeIdle")
}

// TestSoftRebootFallsBack checks that a host that cannot be soft-rebooted reboots.
func TestSoftRebootFallsBack(t *testing.T) {
	c := newCluster(t, "agent-soft-falls-back")
	c.kubelet()
	c.host.Facts.Node.SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is 252"}
	c.order(v1alpha1.ReleaseNode, bySoftReboot)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Method != v1alpha1.MethodReboot || !strings.Contains(status.MethodMessage, "systemd is 252") {
		t.Errorf("got method %s (%s), want Reboot because of systemd", status.Method, status.MethodMessage)
	}
	if c.host.RebootCount() != 1 || c.host.SoftRebootCount() != 0 {
		t.Errorf("got %d reboots and %d soft reboots, want one reboot", c.host.RebootCount(), c.host.SoftRebootCount())
	}
	c.checkFree()
}

// TestSoftRebootKeepsAnOSReboot checks that a reboot that update_engine asks for is a reboot.
func TestSoftRebootKeepsAnOSReboot(t *testing.T) {
	c := newCluster(t, "agent-soft-os")
	c.kubelet()
	c.host.Engine = func() (string, error) { return host.UpdateEngineNeedReboot, nil }
	c.order(v1alpha1.ReleaseNode, bySoftReboot)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Method != v1alpha1.MethodReboot || !strings.Contains(status.MethodMessage, "update_engine") || c.host.SoftRebootCount() != 0 {
		t.Errorf("got method %s (%s) and %d soft reboots, want Reboot because of update_engine", status.Method, status.MethodMessage, c.host.SoftRebootCount())
	}
}

// TestSoftRebootKilledInEachStep is TestKilledInEachStep for a soft reboot.
func TestSoftRebootKilledInEachStep(t *testing.T) {
	c := newCluster(t, "agent-soft-killed")
	c.host.Hang(verb.Kubeadm)
	c.host.Hang(verb.Activate)
	c.order(v1alpha1.ReleaseNode, bySoftReboot, func(s *v1alpha1.NodeUpgradeSpec) { s.SettleSeconds = ptr.To[int32](3) })
	c.pod("default", "web-"+c.node, replicated)
	c.run()
	c.killInEachStep(map[v1alpha1.Step]func(){
		v1alpha1.StepKubeadm:    func() { c.host.Finish(verb.Kubeadm) },
		v1alpha1.StepDraining:   c.kubelet,
		v1alpha1.StepActivating: func() { c.host.Finish(verb.Activate) },
		v1alpha1.StepVerifying:  func() { time.Sleep(time.Second) },
		v1alpha1.StepSettling:   func() {},
	})
	if c.host.RebootCount() != 0 || c.host.SoftRebootCount() != 1 {
		t.Errorf("got %d reboots and %d soft reboots, want one soft reboot", c.host.RebootCount(), c.host.SoftRebootCount())
	}
	c.checkFree()
}
