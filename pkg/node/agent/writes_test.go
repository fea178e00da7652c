package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// TestProblemOfFailedWrite checks that a failed write is reported while the node tries it, and
// hides no other reason.
func TestProblemOfFailedWrite(t *testing.T) {
	at := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	var w failedWrite
	w.record(machine.DoDrain, at, errors.New("refused"))
	w.record(machine.DoDrain, at.Add(time.Second), errors.New("refused again"))
	for name, row := range map[string]struct {
		reason v1alpha1.Reason
		next   machine.Do
		after  time.Duration
		want   string
	}{
		"at first":           {v1alpha1.ReasonDraining, machine.DoDrain, time.Second, ""},
		"it is tried again":  {v1alpha1.ReasonDraining, machine.DoDrain, time.Minute, "refused again"},
		"between two rounds": {v1alpha1.ReasonDrainBlocked, machine.DoNothing, time.Minute, "refused again"},
		"a rule holds it":    {v1alpha1.ReasonRulesUnknown, machine.DoNothing, time.Minute, ""},
	} {
		if got := w.problem(machine.State{Reason: row.reason}, row.next, at.Add(row.after)); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
	w.record(machine.DoDrain, at.Add(time.Hour), nil)
	if got := w.problem(machine.State{}, machine.DoDrain, at.Add(2*time.Hour)); got != "" {
		t.Errorf("after a success: got %q", got)
	}
}

// refuse makes an admission webhook, which does not answer and fails closed, refuse this
// agent's writes to a resource until allow is called.
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
		}, {
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name:       "agent",
			Expression: fmt.Sprintf("request.userInfo.username in ['system:node:%s', 'system:serviceaccount:%s:node-agent']", c.node, v1alpha1.Namespace),
		}},
	}}
	configurations := c.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(c.t.Context(), w, metav1.CreateOptions{})
	c.must(err)
	c.awaitWebhook(w.Webhooks[0].Name)
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

// awaitWebhook waits until the API server calls the webhook, which it finds by a watch. The
// webhook is also called for ConfigMaps, of which one is created as a dry run.
func (c *cluster) awaitWebhook(name string) {
	c.t.Helper()
	node := kubernetes.NewForConfigOrDie(c.as("system:node:"+c.node, []string{"system:masters"}, ""))
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	var err error
	for range 600 {
		_, err = node.CoreV1().ConfigMaps("default").Create(c.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && strings.Contains(err.Error(), name) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("creating a ConfigMap: got error %v, want it refused by %s", err, name)
}

// newReleased returns a cluster whose agent runs and whose node is released. The node runs a
// pod that no kubelet ends. prepare is called before the node is released.
func newReleased(t *testing.T, node string, prepare func(*cluster), change ...func(*v1alpha1.NodeUpgradeSpec)) *cluster {
	t.Helper()
	c := newCluster(t, node)
	c.pod("default", "web-"+c.node, replicated)
	prepare(c)
	c.order(v1alpha1.ReleaseNode, change...)
	c.run()
	return c
}

// awaitRefused waits until the status reports a failed write in a step, with those words.
func (c *cluster) awaitRefused(step v1alpha1.Step, says ...string) {
	c.t.Helper()
	status := c.await("a refused write is reported", func(s agentStatus) bool { return s.Step == step && s.Reason == v1alpha1.ReasonAPIWriteFailed })
	for _, part := range says {
		if !strings.Contains(status.Message, part) {
			c.t.Errorf("%s: got message %q, want %q in it", step, status.Message, part)
		}
	}
}

// TestRefusedWritesAreReported checks that each write which an admission webhook refuses is\n// reported as long as it is refused.
func TestRefusedWritesAreReported(t *testing.T) {
	const leases, nodes = "leases.policy.example.com", "nodes.policy.example.com"
	var allowNodes, allowPods, allowLeases func()
	c := newReleased(t, "agent-refused", func(c *cluster) {
		allowNodes = c.refuse("", "nodes")
		allowPods = c.refuse("", "pods/eviction")
		allowLeases = c.refuse("coordination.k8s.io", "leases")
	})
	c.awaitRefused(v1alpha1.StepLocking, leases, "slot-0")
	allowLeases()
	c.awaitRefused(v1alpha1.StepCordoning, nodes, "node "+c.node)
	allowNodes()
	c.awaitRefused(v1alpha1.StepDraining, "pods.policy.example.com", "default/web-"+c.node)
	allowPods()
	c.await("pods are evicted", func(s agentStatus) bool {
		return s.Step == v1alpha1.StepDraining && s.Reason == v1alpha1.ReasonDraining
	})

	allowNodes = c.refuse("", "nodes")
	c.kubelet()
	c.awaitRefused(v1alpha1.StepUncordoning, nodes, "node "+c.node)
	allowLeases = c.refuse("coordination.k8s.io", "leases")
	allowNodes()
	c.awaitRefused(v1alpha1.StepIdle, leases, "slot-0")
	c.kill()
	c.run()
	allowLeases()
	c.await("the node is up to date", func(s agentStatus) bool { return s.Step == v1alpha1.StepIdle && s.Reason == v1alpha1.ReasonUpToDate })
	c.checkFree()
}

// TestRefusedWriteKeepsTheReason checks that the reason of an abort is reported in the end,
// though a write is refused and the agent is replaced meanwhile.
func TestRefusedWriteKeepsTheReason(t *testing.T) {
	c := newReleased(t, "agent-refused-abort", func(*cluster) {})
	c.awaitStep(v1alpha1.StepDraining)
	allow := c.refuse("", "nodes")
	c.freeze("refused", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	c.awaitRefused(v1alpha1.StepAborting, "nodes.policy.example.com")
	c.kill()
	c.run()
	time.Sleep(2 * time.Second)
	allow()
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Reason != v1alpha1.ReasonExcluded {
		t.Errorf("got %s (%s), want Excluded", status.Reason, status.Message)
	}
	c.checkFree()
}

// TestDrainReadsLive checks that a freeze which begins during a drain ends it without a
// coordinator: no pod is deleted despite its budget when the drain times out.
func TestDrainReadsLive(t *testing.T) {
	c := newReleased(t, "agent-drain-gate", func(c *cluster) {
		c.kubectl("create", "poddisruptionbudget", "web-"+c.node, "--namespace", "default", "--selector", "app="+c.node, "--min-available", "1")
		c.kubectl("label", "pod", "web-"+c.node, "--namespace", "default", "app="+c.node)
		c.kubectl("patch", "pod", "web-"+c.node, "--namespace", "default", "--subresource", "status", "-p", `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)
	}, func(s *v1alpha1.NodeUpgradeSpec) {
		s.Drain.OnTimeout, s.Drain.TimeoutSeconds = v1alpha1.OnTimeoutDelete, ptr.To[int32](60)
	})
	c.await("the budget blocks", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonDrainBlocked })
	c.freeze("during-the-drain", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	status := c.awaitStep(v1alpha1.StepWaiting)
	if status.Reason != v1alpha1.ReasonExcluded || !slices.Contains(stepsOf(status), v1alpha1.StepAborting) {
		t.Errorf("status %+v", status)
	}
	pod, err := c.admin.CoreV1().Pods("default").Get(t.Context(), "web-"+c.node, metav1.GetOptions{})
	c.must(err)
	if pod.DeletionTimestamp != nil {
		t.Error("the pod was deleted despite its budget")
	}
	c.checkFree()
}

// TestRefusedStatusIsLogged checks that a status which cannot be written is logged, and that
// nothing is done which depends on it.
func TestRefusedStatusIsLogged(t *testing.T) {
	var allow func()
	c := newReleased(t, "agent-refused-status", func(c *cluster) {
		allow = c.refuse(v1alpha1.GroupVersion.Group, "nodeupgrades/status")
	})
	for range 600 {
		if strings.Contains(c.logged(), "nodeupgrades.policy.example.com") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if log := c.logged(); !strings.Contains(log, "writing the status of NodeUpgrade "+c.node) || !strings.Contains(log, "nodeupgrades.policy.example.com") {
		t.Errorf("the log does not have the refused write: %s", log)
	}
	if c.holdsSlot() {
		t.Error("the slot is held though the status was not written")
	}
	allow()
	c.kubelet()
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

func (c *cluster) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}
