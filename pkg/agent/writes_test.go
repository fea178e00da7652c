package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// refuse has an admission webhook that does not answer, and fails closed, stand before
// what this node's agent writes to a resource, until allow.
func (c *cluster) refuse(group, resource string) (allow func()) {
	c.t.Helper()
	kind, _, _ := strings.Cut(resource, "/")
	w := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: c.node + "-" + kind}}
	w.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name:                    kind + ".policy.example.com",
		ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
		FailurePolicy:           ptr.To(admissionregistrationv1.Fail),
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}},
		}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name:       "agent",
			Expression: fmt.Sprintf("request.userInfo.username in ['system:node:%s', 'system:serviceaccount:%s:node-agent']", c.node, v1alpha1.Namespace),
		}},
	}}
	configurations := c.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(c.t.Context(), w, metav1.CreateOptions{})
	c.must(err)
	time.Sleep(2 * time.Second) // the API server takes it up by a watch
	removed := false
	allow = func() {
		if !removed {
			removed = true
			c.must(configurations.Delete(context.Background(), w.Name, metav1.DeleteOptions{}))
		}
	}
	c.t.Cleanup(allow)
	return allow
}

// refused waits until the status says of a step that a write fails, and how.
func (c *cluster) refused(step v1alpha1.Step, says ...string) {
	c.t.Helper()
	status := c.await("a refused write is told", func(s told) bool { return s.Step == step && s.Reason == v1alpha1.ReasonAPIWriteFailed })
	for _, part := range says {
		if !strings.Contains(status.Message, part) {
			c.t.Errorf("%s: message %q does not say %q", step, status.Message, part)
		}
	}
}

// Each write that an admission webhook refuses is told while it lasts, and no longer.
func TestRefusedWritesAreTold(t *testing.T) {
	c := newCluster(t, "agent-refused")
	c.pod("default", "web-"+c.node, replicated) // with no kubelet to end it
	const leases, nodes = "leases.policy.example.com", "nodes.policy.example.com"
	allowNodes := c.refuse("", "nodes")
	allowPods := c.refuse("", "pods/eviction")
	allowLeases := c.refuse("coordination.k8s.io", "leases")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.refused(v1alpha1.StepLocking, leases, "slot-0")
	allowLeases()
	c.refused(v1alpha1.StepCordoning, nodes, "node "+c.node)
	allowNodes()
	c.refused(v1alpha1.StepDraining, "pods.policy.example.com", "default/web-"+c.node)
	allowPods()
	c.await("pods leave", func(s told) bool { return s.Step == v1alpha1.StepDraining && s.Reason == v1alpha1.ReasonDraining })

	allowNodes = c.refuse("", "nodes")
	c.kubelet()
	c.refused(v1alpha1.StepUncordoning, nodes, "node "+c.node)
	allowLeases = c.refuse("coordination.k8s.io", "leases")
	allowNodes()
	c.refused(v1alpha1.StepUnlocking, leases, "slot-0")
	allowLeases()
	status := c.awaitStep(v1alpha1.StepIdle)
	if status.Reason != v1alpha1.ReasonUpToDate {
		t.Errorf("in the end: %s (%s)", status.Reason, status.Message)
	}
	c.free()
}

// Why a node gives up is not forgotten over a write that is refused meanwhile, nor by
// an agent that is replaced meanwhile.
func TestRefusedWriteKeepsTheReason(t *testing.T) {
	c := newCluster(t, "agent-refused-abort")
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepDraining)
	allow := c.refuse("", "nodes")
	c.freeze("refused", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	c.refused(v1alpha1.StepAborting, "nodes.policy.example.com")
	c.kill()
	c.run()
	time.Sleep(2 * time.Second)
	allow()
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Reason != v1alpha1.ReasonExcluded {
		t.Errorf("%s (%s), want Excluded", status.Reason, status.Message)
	}
	c.free()
}

// A freeze that begins while pods leave ends the drain, with no coordinator to call the
// node back: no pod is deleted past its budget when the drain's time is up.
func TestDrainAsksTheGate(t *testing.T) {
	c := newCluster(t, "agent-drain-gate")
	c.pod("default", "web-"+c.node, replicated)
	c.kubectl("create", "poddisruptionbudget", "web-"+c.node, "--namespace", "default", "--selector", "app="+c.node, "--min-available", "1")
	c.kubectl("label", "pod", "web-"+c.node, "--namespace", "default", "app="+c.node)
	c.kubectl("patch", "pod", "web-"+c.node, "--namespace", "default", "--subresource", "status", "-p", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	c.order(v1alpha1.ReleaseNode, func(s *v1alpha1.NodeUpgradeSpec) {
		s.Drain.OnTimeout, s.Drain.TimeoutSeconds = v1alpha1.OnTimeoutDelete, ptr.To[int32](15)
	})
	c.run()
	c.await("the budget blocks", func(s told) bool { return s.Reason == v1alpha1.ReasonDrainBlocked })
	c.freeze("during-the-drain", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Reason != v1alpha1.ReasonExcluded || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) {
		t.Errorf("status %+v", status)
	}
	pod, err := c.admin.CoreV1().Pods("default").Get(t.Context(), "web-"+c.node, metav1.GetOptions{})
	c.must(err)
	if pod.DeletionTimestamp != nil {
		t.Error("the pod was deleted past its budget")
	}
	c.free()
}

// Where the status itself cannot be written, the log says so, and nothing that depends
// on it is done.
func TestRefusedStatusIsLogged(t *testing.T) {
	c := newCluster(t, "agent-refused-status")
	allow := c.refuse(v1alpha1.GroupVersion.Group, "nodeupgrades/status")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	for range 200 {
		if strings.Contains(c.logged(), "nodeupgrades.policy.example.com") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if log := c.logged(); !strings.Contains(log, "writing the status of NodeUpgrade "+c.node) || !strings.Contains(log, "nodeupgrades.policy.example.com") {
		t.Errorf("the log does not say so: %s", log)
	}
	if c.holds() {
		t.Error("the slot is taken")
	}
	allow()
	c.awaitStep(v1alpha1.StepIdle)
	c.free()
}

func (c *cluster) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}
