package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// refuses is an admission policy that refuses the coordinator's writes to ClusterUpgrades.
const refuses = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuses}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [kubectl-upgrade.dev]
        apiVersions: ["*"]
        operations: [CREATE, UPDATE]
        resources: [clusterupgrades, clusterupgrades/status]
  matchConditions:
    - {name: ours, expression: "request.userInfo.username == 'system:serviceaccount:kubectl-upgrade:coordinator'"}
  validations:
    - {expression: "false", message: "this cluster wants no upgrades"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuses}
spec: {policyName: refuses, validationActions: [Deny]}
`

// TestReleaseIsWithdrawnDespiteRefusedWrites checks a coordinator whose writes to
// ClusterUpgrades are refused: when a freeze begins it withdraws the release of the node at
// work, it frees the slot of a deleted node, and the policy reports the refused write.
func TestReleaseIsWithdrawnDespiteRefusedWrites(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	w1 := c.manualAgent("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.report(t.Context(), v1alpha1.StepWaiting)
	w2 := c.manualAgent("w2")
	w2.status.Versions.Staged = "v1.34.4"
	w2.report(t.Context(), v1alpha1.StepWaiting)
	c.startCoordinator("one")
	c.takeSlot(w1)
	slot := c.takeSlot(w2)
	w1.status.ObservedGeneration = c.nodeUpgrade("w1").Generation
	w1.report(t.Context(), v1alpha1.StepDraining)

	c.applyText(refuses)
	// Cause writes until one is refused: the admission policy takes effect with a delay.
	failures := int32(0)
	c.eventually(func() string {
		failures++
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Strategy.MaxFailures = &failures })
		failed := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionWriteFailed)
		if failed == nil || !strings.Contains(failed.Message, "ClusterUpgrade v1.34.4") || !strings.Contains(failed.Message, "this cluster wants no upgrades") {
			return fmt.Sprintf("the policy does not report the refused write: %+v", policy.Status.Conditions)
		}
		return ""
	})
	c.awaitEvents(v1alpha1.PolicyName, "APIWriteFailed")

	c.schedule("frozen", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: m.Spec.MaintenanceWindows[0].Period, Comment: "a big day"}}
		m.Spec.MaintenanceWindows = nil
	})
	c.eventually(func() string {
		if u := c.nodeUpgrade("w1"); u.Spec.Release.Granted() {
			return "w1 keeps its release in spite of the freeze"
		}
		return ""
	})
	c.must(c.kube.CoreV1().Nodes().Delete(t.Context(), "w2", metav1.DeleteOptions{}))
	c.eventually(c.slotHeldBy(slot, ""))

	c.must(c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "refuses", metav1.DeleteOptions{}))
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if failed := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionWriteFailed); failed != nil {
			return "the policy still reports that writes fail: " + failed.Message
		}
		return ""
	})
}

// takeSlot waits until a manual agent holds its slot.
func (c *cluster) takeSlot(a *agent) (slot string) {
	c.Helper()
	c.eventually(func() string {
		name, err := a.take(c.Context())
		slot = name
		return describeError(a.me.Node+" waits for a slot", err)
	})
	a.status.Slot = slot
	return slot
}

// refusesOne refuses the coordinator's writes to one NodeUpgrade.
var refusesOne = strings.NewReplacer(
	"resources: [clusterupgrades, clusterupgrades/status]", "resources: [nodeupgrades, nodeupgrades/status]",
	"request.userInfo.username ==", "request.name == 'w1' && request.userInfo.username ==",
	"this cluster wants no upgrades", "spec.version: w1 wants none",
).Replace(refuses)

// TestRefusedNodeHoldsItselfOnly checks a coordinator whose writes to one NodeUpgrade are refused: the policy reports
// which, and why, and the other node is upgraded.
func TestRefusedNodeHoldsItselfOnly(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startAgent("cp1")
	c.startCoordinator("one")
	for _, name := range []string{"w1", "w2"} {
		agent := c.manualAgent(name)
		agent.status.Versions.Staged = "v1.34.4"
		agent.report(t.Context(), v1alpha1.StepWaiting)
	}
	c.applyText(refusesOne)
	c.eventually(func() string {
		out, _ := apitest.Kubectl(t, c.config, "patch", "nodeupgrade", "w1", "--type=merge", "-p", `{"spec":{"version":"v1.34.9"}}`, "--dry-run=server", "--as=system:serviceaccount:kubectl-upgrade:coordinator").CombinedOutput()
		if !strings.Contains(string(out), "w1 wants none") {
			return "nothing refuses what is written to w1: " + string(out)
		}
		return ""
	})
	c.index.offer("v1.34.4")
	c.eventually(func() string {
		if !c.nodeUpgrade("w2").Spec.Release.Granted() {
			return "w2 is not released"
		}
		return ""
	})
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		failed := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionWriteFailed)
		if failed == nil || !strings.Contains(failed.Message, "NodeUpgrade w1") || !strings.Contains(failed.Message, "spec.version: w1 wants none") {
			return fmt.Sprintf("the policy does not report the refused write: %+v", policy.Status.Conditions)
		}
		return ""
	})
	c.awaitEvents(v1alpha1.PolicyName, "APIWriteFailed")
	if c.nodeUpgrade("w1").Spec.Release.Granted() {
		t.Error("w1 is released, so nothing was refused")
	}
}
