package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

var rebootsWay = []v1alpha1.Step{
	v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck,
	v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking,
}

// asReboot makes an order one of type Reboot.
func (c *cluster) asReboot(name string) func(*v1alpha1.NodeUpgradeSpec) {
	c.create(&v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterUpgradeSpec{Type: v1alpha1.TypeReboot}})
	return func(spec *v1alpha1.NodeUpgradeSpec) {
		spec.Upgrade, spec.Type, spec.Version, spec.Image = c.upgrade(name), v1alpha1.TypeReboot, "", nil
	}
}

// TestReboot reboots a node whose operating system requires it.
func TestReboot(t *testing.T) {
	c := newCluster(t, "agent-reboot")
	c.kubelet()
	c.host.Engine = func() (string, error) {
		if c.host.Reboots > 0 {
			return "UPDATE_STATUS_IDLE", nil
		}
		return host.UpdateEngineNeedReboot, nil
	}
	c.pod("default", "web-"+c.node, replicated)
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNode, c.asReboot("reboot-1"))
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff(rebootsWay, stepsOf(status)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if status.Versions.Kubelet != "v1.34.3" || status.Versions.NextBoot != "v1.34.3" || status.Reboot.Required {
		t.Errorf("status %+v", status)
	}
	if slices.Contains(c.host.Verbs(), "activate") || slices.Contains(c.host.Verbs(), "kubeadm") || c.host.RebootCount() != 1 {
		t.Errorf("got %d reboots; work on the host: %v", c.host.RebootCount(), c.host.Verbs())
	}
	want := []string{"in service", "cordoned by us, slot-0", "in service"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
}

// TestRebootActivatesNothing checks that a Reboot does not activate a staged image.
func TestRebootActivatesNothing(t *testing.T) {
	c := newCluster(t, "agent-reboot-staged")
	c.kubelet()
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	c.host.Lock()
	c.host.Facts.RebootRequired, c.host.Facts.RebootReason = true, "the operating system asks for a reboot"
	c.host.Unlock()
	c.host.OnReboot = func(boot string) {
		c.host.Lock()
		c.host.Facts.RebootRequired, c.host.Facts.RebootReason = false, ""
		c.host.Unlock()
		c.boot(boot)
	}
	c.kill()
	c.order(v1alpha1.ReleaseNode, c.asReboot("reboot-2"))
	c.run()
	status := c.await("it has rebooted", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepIdle && s.Upgrade.Name == "reboot-2" && s.Reboot.FromBootID == "boot-0"
	})
	if status.Versions.Kubelet != "v1.34.3" || status.Versions.NextBoot != "v1.34.3" || slices.Contains(c.host.Verbs(), "activate") {
		t.Errorf("began %v; status %+v", c.host.Verbs(), status)
	}
	c.checkFree()
}

// TestRebootWithoutImage reboots a node whose Kubernetes comes from packages. Its status says
// throughout that its versions are not upgraded, also after the agent has restarted.
func TestRebootWithoutImage(t *testing.T) {
	c := newCluster(t, "agent-reboot-packages")
	c.kubelet()
	const why = "Kubernetes comes from packages"
	c.host.Packages = "v1.34.3"
	c.host.Facts.Unsupported = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: why}
	c.host.Facts.Installed, c.host.Facts.Active, c.host.Facts.Merged, c.host.Facts.Armed = nil, "", "", true
	c.order(v1alpha1.ReleaseNone)
	c.run()
	if status := c.awaitStep(v1alpha1.StepUnsupported); status.ImageProblem.Text() != why {
		t.Errorf("the status says %q, want %q", status.ImageProblem.Text(), why)
	}
	c.kill()
	c.host.Lock()
	c.host.Facts.RebootRequired, c.host.Facts.RebootReason = true, "the operating system asks for a reboot"
	c.host.Unlock()
	boots := c.host.OnReboot
	c.host.OnReboot = func(boot string) {
		c.host.Lock()
		c.host.Facts.RebootRequired, c.host.Facts.RebootReason = false, ""
		c.host.Unlock()
		boots(boot)
	}
	c.order(v1alpha1.ReleaseNode, c.asReboot("reboot-3"))
	c.run()
	status := c.await("it has rebooted", func(s agentStatus) bool {
		if s.ImageProblem.Text() != why {
			t.Errorf("at %s the status says %q, want %q", s.Step, s.ImageProblem.Text(), why)
		}
		return s.Step == v1alpha1.StepIdle && s.Reboot.FromBootID == "boot-0"
	})
	if verbs := c.host.Verbs(); len(verbs) > 0 || c.host.RebootCount() != 1 || status.Versions.Kubelet != "v1.34.3" {
		t.Errorf("got %d reboots; work on the host: %v; status %+v", c.host.RebootCount(), verbs, status)
	}
	c.checkFree()
}

// TestRebootAlways reboots a node once that does not ask for it, by an order that names the boot to end. That order must
// be the upgrade's, and is done in the next boot, also for an agent whose status is lost.
func TestRebootAlways(t *testing.T) {
	c := newCluster(t, "agent-reboot-always")
	c.kubelet()
	reboot := c.asReboot("reboot-4")
	fixed := &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "reboot-4"}}
	fixed.Status.Boots = []v1alpha1.NodeBoot{{Name: c.node, BootID: "boot-0"}}
	_, err := c.ours.ClusterUpgrades.Apply(t.Context(), fixed, "test", "status")
	c.must(err)
	from := func(boot string) func(*v1alpha1.NodeUpgradeSpec) {
		return func(spec *v1alpha1.NodeUpgradeSpec) { spec.FromBootID = boot }
	}
	c.order(v1alpha1.ReleaseNode, reboot, from(""))
	c.run()
	c.await("nothing is asked of it without the boot", func(s agentStatus) bool { return s.Step == v1alpha1.StepIdle && s.Upgrade.Name == "reboot-4" })
	c.order(v1alpha1.ReleaseNode, reboot, from("boot-0"))
	c.await("it has rebooted", func(s agentStatus) bool { return s.Step == v1alpha1.StepIdle && s.Reboot.FromBootID == "boot-0" })
	c.kill()
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.order(v1alpha1.ReleaseNode, reboot, from("boot-0"))
	c.run()
	c.await("it is done, and its slot is free", func(s agentStatus) bool {
		lease, err := c.admin.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-0", metav1.GetOptions{})
		c.must(err)
		return s.Step == v1alpha1.StepIdle && s.Reboot.FromBootID == "" && ptr.Deref(lease.Spec.HolderIdentity, "") == ""
	})
	c.order(v1alpha1.ReleaseNode, reboot, from("boot-1"))
	status := c.await("the order is refused", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOrderMismatch })
	if want := `the NodeUpgrade has boot "boot-1", but ClusterUpgrade reboot-4 fixed "boot-0" at its trigger`; c.host.RebootCount() != 1 || !strings.Contains(status.Message, want) {
		t.Errorf("got %d reboots and %q", c.host.RebootCount(), status.Message)
	}
}
