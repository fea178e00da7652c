package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// TestStartFailureCostsNoAttempt checks that an error of the system bus is reported, and does\n// not count as an attempt.
func TestStartFailureCostsNoAttempt(t *testing.T) {
	c := newCluster(t, "agent-bus")
	c.kubelet()
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	c.host.Lock()
	c.host.BusFails = verb.Kubeadm
	c.host.Unlock()
	c.order(v1alpha1.ReleaseNode)
	status := c.await("the reason is HostUnreachable", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonHostUnreachable })
	if status.Step != v1alpha1.StepKubeadm || status.Message != "the bus is away" {
		t.Errorf("got step %s (%s), want Kubeadm (the bus is away)", status.Step, status.Message)
	}
	status = c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff(workerSteps, stepsOf(status)); diff != "" || status.Retry.Attempts != 1 || status.Retry.Failures != 0 {
		t.Errorf("%+v; steps (-want +got):\n%s", status.Retry, diff)
	}
}
