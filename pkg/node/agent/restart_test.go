package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var restartSteps = []v1alpha1.Step{
	v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepLastCheck,
	v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUnlocking,
}

func byRestart(spec *v1alpha1.NodeUpgradeSpec) { spec.Method = v1alpha1.MethodRestart }

// TestRestart checks that a restart keeps the node in service with its pods.
func TestRestart(t *testing.T) {
	c := newCluster(t, "agent-restart")
	c.pod("default", "web-"+c.node, replicated) // no kubelet ends it
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNode, byRestart)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff(restartSteps, stepsOf(status)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if status.Versions.Kubelet != "v1.34.4" || status.Method != v1alpha1.MethodRestart || status.Retry.Attempts != 1 {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate", "restart"}, c.host.Verbs()); diff != "" || c.host.RebootCount() != 0 {
		t.Errorf("got %d reboots; work on the host:\n%s", c.host.RebootCount(), diff)
	}
	if diff := cmp.Diff([]string{"in service"}, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
	c.awaitEvents("UpgradeRestarting", "UpgradeIdle")
}

// TestRestartFallsBack checks that a mount which the restart would break is found with facts
// that are gathered for the last check, and that the node reboots instead.
func TestRestartFallsBack(t *testing.T) {
	c := newCluster(t, "agent-falls-back")
	c.kubelet()
	c.order(v1alpha1.ReleaseNone, byRestart)
	c.run()
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	c.host.Lock()
	c.host.Facts.Node.RefreshBlockers = []string{"/usr/share/oem"}
	c.host.Facts.Kubeadm.Version = "v1.34.4" // so that no verb runs after which facts are gathered again
	c.host.Unlock()
	c.order(v1alpha1.ReleaseNode, byRestart)
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Method != v1alpha1.MethodReboot || !strings.Contains(status.MethodMessage, "/usr/share/oem") {
		t.Errorf("got method %s (%s), want Reboot because of /usr/share/oem", status.Method, status.MethodMessage)
	}
	if c.host.RebootCount() != 1 || status.Versions.Kubelet != "v1.34.4" {
		t.Errorf("got %d reboots; status %+v", c.host.RebootCount(), status)
	}
	c.checkFree()
	c.awaitEvents("UpgradeCordoning", "UpgradeDraining", "UpgradeRebooting") // the first says why it reboots
}

// TestRestartKilledInEachStep is TestKilledInEachStep for a restart.
func TestRestartKilledInEachStep(t *testing.T) {
	c := newCluster(t, "agent-restart-killed")
	c.host.Takes = 300 * time.Millisecond // LastCheck lasts until facts are gathered
	c.host.Hang(verb.Activate)
	c.host.Hang(verb.Restart)
	c.order(v1alpha1.ReleaseNode, byRestart, func(s *v1alpha1.NodeUpgradeSpec) { s.SettleSeconds = ptr.To[int32](3) })
	c.run()
	c.killInEachStep(map[v1alpha1.Step]func(){
		v1alpha1.StepLastCheck:  func() {},
		v1alpha1.StepActivating: func() { c.host.Finish(verb.Activate) },
		v1alpha1.StepRestarting: func() { c.host.Finish(verb.Restart) },
		v1alpha1.StepSettling:   func() {},
	})
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate", "restart"}, c.host.Verbs()); diff != "" || c.host.RebootCount() != 0 {
		t.Errorf("got %d reboots; work on the host:\n%s", c.host.RebootCount(), diff)
	}
	c.checkFree()
}

// TestRestartLeavesNothingMerged checks that a node reboots without a drain if the restart
// leaves nothing merged.
func TestRestartLeavesNothingMerged(t *testing.T) {
	c := newCluster(t, "agent-nothing-merged")
	nothing := ""
	c.host.Refresh = &nothing
	c.host.Fail[verb.Restart] = &verb.Result{Reason: v1alpha1.ReasonRestartFailed, Message: "nothing is merged now"}
	c.pod("default", "web-"+c.node, replicated) // no kubelet ends it
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNode, byRestart)
	c.run()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Versions.Kubelet != "v1.34.4" || c.host.RebootCount() != 1 || status.Method != v1alpha1.MethodReboot || !strings.HasSuffix(status.MethodMessage, ": nothing is merged now") {
		t.Errorf("got %d reboots; status %+v", c.host.RebootCount(), status)
	}
	want := []string{"in service", "cordoned by us, slot-0", "in service"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
}
