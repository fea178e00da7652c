package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// refuses makes the API server refuse a kind of write of ours.
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

// The API server refuses whatever the coordinator says about upgrades. A freeze
// begins: the node at work is called back all the same, a slot whose node is gone is
// freed, and people are told what cannot be written.
func TestARefusedWriteStopsNoWithdrawal(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.agent("cp1")
	w1 := c.byHand("w1")
	w1.status.Versions.Staged = "v1.34.4"
	w1.say(t.Context(), v1alpha1.StepWaiting)
	w2 := c.byHand("w2")
	w2.status.Versions.Staged = "v1.34.4"
	w2.say(t.Context(), v1alpha1.StepWaiting)
	c.coordinate("one")
	c.takes(w1)
	slot := c.takes(w2)
	w1.status.ObservedGeneration = c.word("w1").Generation
	w1.say(t.Context(), v1alpha1.StepDraining)

	c.applyText(refuses)
	// Something is to be written that is refused, as soon as the API server refuses.
	failures := int32(0)
	c.eventually(func() string {
		failures++
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Strategy.MaxFailures = &failures })
		failed := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionWriteFailed)
		if failed == nil || !strings.Contains(failed.Message, "ClusterUpgrade v1.34.4") || !strings.Contains(failed.Message, "this cluster wants no upgrades") {
			return fmt.Sprintf("the policy says %+v", policy.Status.Conditions)
		}
		return ""
	})
	c.events(v1alpha1.PolicyName, "APIWriteFailed")

	c.schedule("frozen", func(m *v1alpha1.MaintenanceSchedule) {
		m.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: m.Spec.MaintenanceWindows[0].Period, Reason: "a big day"}}
		m.Spec.MaintenanceWindows = nil
	})
	c.eventually(func() string {
		if word := c.word("w1"); word.Spec.Release.Granted() {
			return "w1 keeps its release in spite of the freeze"
		}
		return ""
	})
	c.must(c.kube.CoreV1().Nodes().Delete(t.Context(), "w2", metav1.DeleteOptions{}))
	c.eventually(c.holder(slot, ""))

	c.must(c.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "refuses", metav1.DeleteOptions{}))
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if failed := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionWriteFailed); failed != nil {
			return "the policy still says that writes fail: " + failed.Message
		}
		return ""
	})
}

// takes waits until an agent whose every step is the test's has its slot.
func (c *cluster) takes(a *agent) (slot string) {
	c.Helper()
	c.eventually(func() string {
		name, err := a.slots.Take(c.Context(), a.me)
		slot = name
		return problem(a.me.Node+" waits for a slot", err)
	})
	a.status.Slot = slot
	return slot
}
