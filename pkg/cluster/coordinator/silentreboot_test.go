package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestNodeNotBackIsReported checks a node that loses power while it is drained: a minute
// later the upgrade is stalled, with an event, and the node that waits reports which node
// it waits for, since when, and which command helps. The hold ends when the node is back.
func TestNodeNotBackIsReported(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Strategy.MaxUnavailable = nil })
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	w1, w2 := c.manualAgent("w1"), c.manualAgent("w2")
	for _, w := range []*agent{w1, w2} {
		w.status.Versions.Staged = "v1.34.4"
		w.report(t.Context(), v1alpha1.StepWaiting)
	}
	c.startCoordinator("one")
	c.takeSlot(w1)
	w1.status.ObservedGeneration = c.nodeUpgrade("w1").Generation
	w1.report(t.Context(), v1alpha1.StepDraining)
	c.eventually(c.heldBy("w2", v1alpha1.ReasonNotItsTurn))

	c.setReady("w1", corev1.ConditionUnknown, time.Now().Add(-58*time.Second))
	c.eventually(c.heldBy("w2", v1alpha1.ReasonNodeNotBack))
	_, message := c.nodeUpgrade("w2").Status.Hold()
	if !strings.Contains(message, "node w1") || !strings.Contains(message, "NotReady since 20") || !strings.Contains(message, "kubectl upgrade abandon w1") {
		t.Errorf("w2 is held with the message %q, want node w1, since when and the command", message)
	}
	c.eventually(func() string {
		if conditions := c.upgrade("v1.34.4").Status.Conditions; !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled) {
			return fmt.Sprintf("the upgrade is not stalled: %+v", conditions)
		}
		return ""
	})
	c.awaitEvents("v1.34.4", "NodeNotBack")
	c.eventually(func() string {
		u := c.nodeUpgrade("w1")
		if reason, _ := u.Status.Explain(); reason != v1alpha1.ReasonNodeNotBack || !u.Spec.Release.Granted() {
			return fmt.Sprintf("w1 reports %s and is released for %s, want NodeNotBack and Node", reason, u.Spec.Release)
		}
		return ""
	})
	c.setReady("w1", corev1.ConditionTrue, time.Now())
	c.eventually(c.heldBy("w2", v1alpha1.ReasonNotItsTurn))
	c.checkNoWrites()
}

// setReady sets the Ready condition, as the node controller or a kubelet does.
func (c *cluster) setReady(name string, status corev1.ConditionStatus, since time.Time) {
	c.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(since)}}
	_, err = c.kube.CoreV1().Nodes().UpdateStatus(c.Context(), node, metav1.UpdateOptions{})
	c.must(err)
}

// heldBy checks that the coordinator holds the node for that reason.
func (c *cluster) heldBy(name string, want v1alpha1.Reason) func() string {
	return func() string {
		if reason, message := c.nodeUpgrade(name).Status.Hold(); reason != want {
			return fmt.Sprintf("%s is held by %s (%s), want %s", name, reason, message, want)
		}
		return ""
	}
}
