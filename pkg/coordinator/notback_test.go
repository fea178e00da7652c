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

// The power of a node fails while it is drained. A minute later the upgrade is stalled,
// an event says so, and the node that waits is told which node it waits for, since
// when, and what helps. It all goes on when the node is back.
func TestANodeThatDoesNotComeBack(t *testing.T) {
	c := newCluster(t, "cp1", "w1", "w2")
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Strategy.MaxUnavailable = nil })
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.agent("cp1")
	w1, w2 := c.byHand("w1"), c.byHand("w2")
	for _, w := range []*agent{w1, w2} {
		w.status.Versions.Staged = "v1.34.4"
		w.say(t.Context(), v1alpha1.StepWaiting)
	}
	c.coordinate("one")
	c.takes(w1)
	w1.status.ObservedGeneration = c.word("w1").Generation
	w1.say(t.Context(), v1alpha1.StepDraining)
	c.eventually(c.told("w2", v1alpha1.ReasonNotItsTurn))

	c.ready("w1", corev1.ConditionUnknown, time.Now().Add(-58*time.Second))
	c.eventually(c.told("w2", v1alpha1.ReasonNodeNotBack))
	_, message := c.word("w2").Status.Hold()
	if !strings.Contains(message, "node w1") || !strings.Contains(message, "NotReady since 20") || !strings.Contains(message, "kubectl upgrade abandon w1") {
		t.Errorf("w2 is told: %s", message)
	}
	c.eventually(func() string {
		if conditions := c.upgrade("v1.34.4").Status.Conditions; !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled) {
			return fmt.Sprintf("the upgrade says %+v", conditions)
		}
		return ""
	})
	c.events("v1.34.4", "NodeNotBack")
	w1Now := c.word("w1")
	if reason, _ := w1Now.Status.Explain(); reason != v1alpha1.ReasonNodeNotBack || !w1Now.Spec.Release.Granted() {
		t.Errorf("w1 itself says %s, with the release %s", reason, w1Now.Spec.Release)
	}
	c.ready("w1", corev1.ConditionTrue, time.Now())
	c.eventually(c.told("w2", v1alpha1.ReasonNotItsTurn))
	c.quiet()
}

// ready is what the node controller or a kubelet says of a node.
func (c *cluster) ready(name string, status corev1.ConditionStatus, since time.Time) {
	c.Helper()
	node, err := c.kube.CoreV1().Nodes().Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(since)}}
	_, err = c.kube.CoreV1().Nodes().UpdateStatus(c.Context(), node, metav1.UpdateOptions{})
	c.must(err)
}

// told wants the coordinator to give the node that reason.
func (c *cluster) told(name string, want v1alpha1.Reason) func() string {
	return func() string {
		if reason, message := c.word(name).Status.Hold(); reason != want {
			return fmt.Sprintf("%s is told %s: %s", name, reason, message)
		}
		return ""
	}
}
