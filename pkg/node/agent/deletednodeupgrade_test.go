package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// loseState deletes the NodeUpgrade and replaces the agent.
func (c *cluster) loseState() {
	c.t.Helper()
	c.must(c.ours.NodeUpgrades.Delete(c.t.Context(), c.node, metav1.DeleteOptions{}))
	c.kill()
	c.run()
}

func (c *cluster) holdsSlot() bool {
	c.t.Helper()
	held, err := c.slots.Held(context.Background(), c.owner)
	c.must(err)
	return held != ""
}

// TestLostWhileKubeadmRuns checks that the slot is kept until kubeadm has ended and the
// control plane is healthy, though the NodeUpgrade and the agent's state are lost meanwhile.
func TestLostWhileKubeadmRuns(t *testing.T) {
	c := newControlPlane(t, "agent-lost-kubeadm")
	c.staticPods("v1.34.4", "False")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("images are pulled", func(s agentStatus) bool { return s.Versions.Pulled == "v1.34.4" && s.Step == v1alpha1.StepWaiting })
	c.host.Hang(verb.Kubeadm)
	c.order(v1alpha1.ReleaseControlPlane)
	c.await("kubeadm runs", func(agentStatus) bool { return slices.Contains(c.host.Verbs(), "kubeadm") })
	c.loseState()
	for range 50 {
		if !c.holdsSlot() {
			t.Fatal("the slot is freed while kubeadm runs")
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.order(v1alpha1.ReleaseNone)
	c.awaitStep(v1alpha1.StepKubeadm)
	c.host.Finish(verb.Kubeadm)
	c.await("it checks the control plane", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepChecking && s.Reason == v1alpha1.ReasonUnhealthy
	})
	if !c.holdsSlot() {
		t.Error("the slot is freed before the control plane is healthy")
	}
	for _, component := range host.ControlPlaneComponents {
		c.setPodReady(component, "True")
	}
	c.awaitStep(v1alpha1.StepWaiting)
	c.checkFree()
}

// TestLostWhileNodeIsDown checks that a node whose NodeUpgrade is deleted while it is down,
// and created again without an order, stays out of service until its kubelet is Ready at the
// booted version.
func TestLostWhileNodeIsDown(t *testing.T) {
	c := newCluster(t, "agent-lost-down")
	down := make(chan string, 1)
	c.host.OnReboot = func(boot string) {
		c.kill()
		c.kubectl("patch", "node", c.node, "--subresource", "status", "-p", `{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`)
		down <- boot
	}
	c.order(v1alpha1.ReleaseNode)
	c.run()
	boot := <-down
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	_, err := c.ours.NodeUpgrades.Apply(t.Context(), &v1alpha1.NodeUpgrade{
		ObjectMeta: metav1.ObjectMeta{Name: c.node},
		Spec:       v1alpha1.NodeUpgradeSpec{Managed: true, Release: v1alpha1.ReleaseNone, Pace: v1alpha1.DefaultStrategy().Pace},
	}, "coordinator", "")
	c.must(err)
	c.run()
	c.awaitStep(v1alpha1.StepVerifying)
	node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	if marks := marksOf(node); marks != "cordoned by us, slot-0" || !c.holdsSlot() {
		t.Errorf("while it is down the Node is %q, want it cordoned by us with slot-0", marks)
	}
	c.report(boot, corev1.ConditionTrue)
	status := c.await("it is back", func(s agentStatus) bool { return s.Step == v1alpha1.StepSettling || s.Step == v1alpha1.StepIdle })
	if slices.Contains(stepsOf(status), v1alpha1.StepAborting) {
		t.Errorf("steps %v", stepsOf(status))
	}
}
