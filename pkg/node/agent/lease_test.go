package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestDeadKubelet checks that a node whose Node is Ready stays out of service while its kubelet
// does not renew its Lease, which the agent reads as the kubelet, and while the kubelet's health
// endpoint does not answer on the host.
func TestDeadKubelet(t *testing.T) {
	c := newCluster(t, "agent-dead-kubelet")
	c.kubelet()
	c.renew(time.Now().Add(-time.Hour), 40*time.Second)
	c.run()
	c.order(v1alpha1.ReleaseNode)
	c.await("it waits for the Lease", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepVerifying && strings.Contains(s.Message, "renew its Lease")
	})
	time.Sleep(3 * time.Second) // longer than the settle time
	if got := c.status().Step; got != v1alpha1.StepVerifying {
		t.Fatalf("the step is %s, want Verifying", got)
	}
	c.host.SetKubeletProblem("the kubelet does not run")
	c.renew(time.Now(), time.Hour)
	c.await("it is found on the host", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepSettling && s.Reason == v1alpha1.ReasonUnhealthy && s.Message == "the kubelet does not run"
	})
	c.host.SetKubeletProblem("")
	c.awaitStep(v1alpha1.StepIdle)
}
