package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// deletePolicy deletes the UpgradePolicy until again is called, or the test ends.
func (c *cluster) deletePolicy() (again func()) {
	c.t.Helper()
	c.must(c.ours.UpgradePolicies.Delete(c.t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	again = func() { c.must(c.setMode(v1alpha1.ModeManage)) }
	c.t.Cleanup(again)
	return again
}

// TestNothingBeginsWithoutPolicy checks that an agent takes no node over, and stages nothing,
// while there is no UpgradePolicy or its mode is Observe, whatever its NodeUpgrade orders: with
// the policy the keyring is gone that says whose images may run.
func TestNothingBeginsWithoutPolicy(t *testing.T) {
	c := newCluster(t, "agent-no-policy")
	c.kubelet()
	c.host.Facts.Armed = true
	again := c.deletePolicy()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("there is no policy", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonPolicyMissing })
	if !strings.Contains(status.Message, "there is no UpgradePolicy cluster") {
		t.Errorf("status %+v", status)
	}
	c.must(c.setMode(v1alpha1.ModeObserve))
	c.await("the cluster is only observed", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonObserved })
	if began := c.host.Verbs(); len(began) > 0 || c.host.HasFiles() {
		t.Errorf("got work on the host %v and files %t, want none", began, c.host.HasFiles())
	}
	again()
	c.await("it is upgraded", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonUpToDate })
	c.checkFree()
}

// TestNodeThatBeganAbortsWithoutPolicy checks that a node which has not passed its last check
// aborts when the policy is deleted.
func TestNodeThatBeganAbortsWithoutPolicy(t *testing.T) {
	c := newCluster(t, "agent-policy-gone")
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepDraining)
	again := c.deletePolicy()
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Reason != v1alpha1.ReasonPolicyMissing || status.Slot != "" {
		t.Errorf("status %+v", status)
	}
	again()
	c.kubelet()
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepIdle)
}

// TestNothingIsGivenBackWithoutPolicy checks that a node whose NodeUpgrade says that it is not
// managed keeps what is on it while there is no policy, and says why.
func TestNothingIsGivenBackWithoutPolicy(t *testing.T) {
	c := newCluster(t, "agent-kept")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("the node is taken over", func(s agentStatus) bool {
		return managedReason(s) == "True TakenOver" && s.Step == v1alpha1.StepWaiting
	})
	again := c.deletePolicy()
	c.order(v1alpha1.ReleaseNone, notManaged)
	status := c.await("it says why", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonPolicyMissing })
	if got := managedReason(status); got != "True GivingBack" {
		t.Errorf("the condition Managed is %q, want True GivingBack", got)
	}
	time.Sleep(2 * time.Second)
	for _, one := range c.host.Verbs() {
		if one == string(verb.Uninstall) || !c.host.HasFiles() {
			t.Fatalf("the node was given back: %v", c.host.Verbs())
		}
	}
	again()
	c.await("the node is given back", func(s agentStatus) bool { return managedReason(s) == "False NothingLeft" })
}

// TestKeyringAfterStaging checks that an image which was staged without a keyring does not
// count as staged once the UpgradePolicy has one: it is staged again, with the keyring.
func TestKeyringAfterStaging(t *testing.T) {
	c := newCluster(t, "agent-keyring-later")
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	policy.Spec.Source.Keyring = "keys"
	_, err = c.ours.UpgradePolicies.Update(t.Context(), policy, metav1.UpdateOptions{})
	c.must(err)
	t.Cleanup(func() {
		policy, err := c.ours.UpgradePolicies.Get(context.Background(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		policy.Spec.Source.Keyring = ""
		_, err = c.ours.UpgradePolicies.Update(context.Background(), policy, metav1.UpdateOptions{})
		c.must(err)
	})
	c.kubelet()
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepIdle)
	if diff := cmp.Diff([]string{"stage", "stage", "kubeadm", "activate"}, c.host.Verbs()); diff != "" {
		t.Errorf("work on the host (-want +got):\n%s", diff)
	}
	request, err := c.host.LastRequest(verb.Stage)
	if err != nil || !strings.Contains(string(request.Args), `"keyring":"keys"`) {
		t.Errorf("the last staging was %s %v", request.Args, err)
	}
}
