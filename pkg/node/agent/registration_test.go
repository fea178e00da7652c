package agent

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestRefusedRegistration checks that a node whose kubelet cannot write its Node after the
// reboot names the webhook that refuses it.
func TestRefusedRegistration(t *testing.T) {
	c := newCluster(t, "agent-registration")
	c.kubelet()
	var allow func()
	c.host.OnReboot = func(string) {
		c.kill()
		allow = c.refuse("", "nodes")
		c.run()
	}
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the refusal is reported", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepVerifying && strings.Contains(s.Message, "nodes.policy.example.com")
	})
	if status.Reason != v1alpha1.ReasonNodeNotReady || !strings.Contains(status.Message, "the API server refuses what the kubelet writes to its Node: ") {
		t.Errorf("got %s: %s", status.Reason, status.Message)
	}
	allow()
	c.report("boot-1", corev1.ConditionTrue)
	c.awaitStep(v1alpha1.StepIdle)
}
