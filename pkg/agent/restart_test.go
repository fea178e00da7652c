package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var restartsWay = []v1alpha1.Step{
	v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepLastCheck,
	v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUnlocking,
}

func byRestart(spec *v1alpha1.NodeUpgradeSpec) { spec.Method = v1alpha1.MethodRestart }

// The node stays in service, and its pods where they are.
func TestRestart(t *testing.T) {
	c := newCluster(t, "agent-restart")
	c.pod("default", "web-"+c.node, replicated) // with no kubelet to end it
	seen := c.record()
	c.order(v1alpha1.ReleaseNode, byRestart)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff(restartsWay, stepsOf(status)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if status.Versions.Kubelet != "v1.34.4" || status.Method != v1alpha1.MethodRestart || status.Retry.Attempts != 1 {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate", "restart"}, c.host.began); diff != "" || c.host.reboots != 0 {
		t.Errorf("%d reboots; work on the host:\n%s", c.host.reboots, diff)
	}
	if diff := cmp.Diff([]string{"in service"}, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.free()
	c.events("UpgradeRestarting", "UpgradeIdle")
}

// What would break is found with facts that are gathered for the last check.
func TestRestartFallsBack(t *testing.T) {
	c := newCluster(t, "agent-falls-back")
	c.kubelet()
	c.order(v1alpha1.ReleaseNone, byRestart)
	c.run()
	c.await("it is staged", func(s told) bool { return s.Versions.Staged == "v1.34.4" })
	c.host.mu.Lock()
	c.host.facts.Node.RefreshBlockers = []string{"/usr/share/oem"}
	c.host.facts.Kubeadm.Version = "v1.34.4" // nothing runs that would have the facts gathered again
	c.host.mu.Unlock()
	c.order(v1alpha1.ReleaseNode, byRestart)
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Method != v1alpha1.MethodReboot || !strings.Contains(status.MethodMessage, "/usr/share/oem") {
		t.Errorf("method %s: %s", status.Method, status.MethodMessage)
	}
	if c.host.reboots != 1 || status.Versions.Kubelet != "v1.34.4" {
		t.Errorf("%d reboots; status %+v", c.host.reboots, status)
	}
	c.free()
	c.events("UpgradeCordoning", "UpgradeRebooting")
}

func TestRestartKilledInEachStep(t *testing.T) {
	c := newCluster(t, "agent-restart-killed")
	c.host.takes = 150 * time.Millisecond
	c.order(v1alpha1.ReleaseNode, byRestart)
	c.run()
	killed := map[v1alpha1.Step]bool{}
	deadline := time.Now().Add(60 * time.Second)
	for status := c.status(); status.Step != v1alpha1.StepIdle; status = c.status() {
		if time.Now().After(deadline) {
			t.Fatalf("does not arrive: %+v", status)
		}
		if !killed[status.Step] {
			killed[status.Step] = true
			c.kill()
			c.run()
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, step := range []v1alpha1.Step{v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepSettling} {
		if !killed[step] {
			t.Errorf("was never seen in step %s: killed in %v", step, killed)
		}
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate", "restart"}, c.host.began); diff != "" || c.host.reboots != 0 {
		t.Errorf("%d reboots; work on the host:\n%s", c.host.reboots, diff)
	}
	c.free()
}

// A refresh that leaves nothing merged: the node reboots as it is.
func TestRestartLeavesNothingMerged(t *testing.T) {
	c := newCluster(t, "agent-nothing-merged")
	nothing := ""
	c.host.refresh = &nothing
	c.host.fail[verb.Restart] = &host.Result{Reason: v1alpha1.ReasonRestartFailed, Message: "nothing is merged now"}
	c.pod("default", "web-"+c.node, replicated) // with no kubelet to end it
	seen := c.record()
	c.order(v1alpha1.ReleaseNode, byRestart)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Versions.Kubelet != "v1.34.4" || c.host.reboots != 1 || status.Method != v1alpha1.MethodReboot || !strings.HasSuffix(status.MethodMessage, ": nothing is merged now") {
		t.Errorf("%d reboots; status %+v", c.host.reboots, status)
	}
	want := []string{"in service", "cordoned by us, slot-0", "in service"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.free()
}
