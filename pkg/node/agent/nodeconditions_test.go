package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// conditionsOf returns the Node's conditions that agents write, with those of other clients.
func conditionsOf(node *corev1.Node) string {
	var list []string
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			continue
		}
		text := string(c.Type)
		if c.Reason != v1alpha1.NodeConditionReason {
			text += " of " + c.Reason
		}
		if c.Status != corev1.ConditionTrue {
			text += " " + string(c.Status)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// recordConditions watches the Node from now on. The function that it returns stops that, and
// returns the node's conditions, one for each change, and how often agents wrote them.
func (c *cluster) recordConditions() func() (seen []string, writes int) {
	c.t.Helper()
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	seen, writes := []string{conditionsOf(node)}, 0
	watcher, err := c.admin.CoreV1().Nodes().Watch(c.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + c.node, ResourceVersion: node.ResourceVersion})
	c.must(err)
	recorded := make(chan struct{})
	var shown sync.Map // the versions of the Node that the watch has shown
	go func() {
		defer close(recorded)
		for event := range watcher.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok || event.Type != watch.Modified {
				continue
			}
			if now := conditionsOf(node); now != seen[len(seen)-1] {
				seen = append(seen, now)
				writes++
			}
			shown.Store(node.ResourceVersion, true)
		}
	}()
	return func() ([]string, int) {
		now, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
		c.must(err)
		for range 200 { // on a slow machine the watch shows a write later than a read does
			if _, is := shown.Load(now.ResourceVersion); is || now.ResourceVersion == node.ResourceVersion {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		watcher.Stop()
		<-recorded
		return seen, writes
	}
}

// setCondition sets a condition of the Node as another client.
func (c *cluster) setCondition(kind, status, reason string) {
	c.t.Helper()
	c.kubectl("patch", "node", c.node, "--subresource", "status", "--type", "strategic", "-p",
		`{"status":{"conditions":[{"type":"`+kind+`","status":"`+status+`","reason":"`+reason+`","message":"m"}]}}`)
}

func (c *cluster) awaitConditions(want string) {
	c.t.Helper()
	got := ""
	for range 600 {
		node, err := c.admin.CoreV1().Nodes().Get(context.Background(), c.node, metav1.GetOptions{})
		c.must(err)
		if got = conditionsOf(node); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("conditions of the Node: got %q, want %q", got, want)
}

// TestNodeConditions checks what the Node of a worker shows during its upgrade, by three writes: its drain is
// over before it is shown.
func TestNodeConditions(t *testing.T) {
	c := newCluster(t, "agent-conditions")
	c.kubelet()
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	seen := c.recordConditions()
	c.order(v1alpha1.ReleaseKubeadmAhead)
	c.await("kubeadm has run ahead", func(s agentStatus) bool { return s.Versions.Kubeadm == "v1.34.4" })
	c.awaitConditions("MaintenancePlanned")
	c.order(v1alpha1.ReleaseNode)
	c.awaitStep(v1alpha1.StepIdle)
	c.awaitConditions("")
	got, writes := seen()
	want := []string{"", "MaintenancePlanned", "Drained, MaintenanceInProgress", ""}
	if c.drainTook() >= drainedWithin { // on a slow machine
		want = slices.Insert(want, 2, "DrainInProgress, MaintenancePlanned")
	}
	if diff := cmp.Diff(want, got); diff != "" || writes != len(want)-1 {
		t.Errorf("the Node's conditions, by %d writes (-want +got):\n%s", writes, diff)
	}
}

// drainTook returns how long the node was drained, as its timeline says.
func (c *cluster) drainTook() time.Duration {
	for _, step := range c.status().Steps {
		if step.Step == v1alpha1.StepDraining && step.EndTime != nil {
			return step.EndTime.Sub(step.StartTime.Time)
		}
	}
	return 0
}

// TestForeignConditions checks that the conditions of other clients stay, but those that are
// False, and that the agent neither takes nor removes them.
func TestForeignConditions(t *testing.T) {
	c := newCluster(t, "agent-foreign-conditions")
	c.pod("default", "web-"+c.node, replicated) // which no kubelet ends yet
	c.setCondition("MaintenancePlanned", "True", "Hardware")
	c.setCondition("Drained", "Unknown", "Hardware")
	c.setCondition("DrainInProgress", "False", "KubectlDrain")
	seen := c.recordConditions()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	const foreign = "Drained of Hardware Unknown, MaintenancePlanned of Hardware"
	c.awaitConditions("DrainInProgress, " + foreign)
	c.kubelet()
	c.awaitStep(v1alpha1.StepIdle)
	c.awaitConditions(foreign)
	got, _ := seen()
	want := []string{
		"DrainInProgress of KubectlDrain False, " + foreign,
		"DrainInProgress, " + foreign,
		"Drained of Hardware Unknown, MaintenanceInProgress, MaintenancePlanned of Hardware",
		foreign,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the Node's conditions (-want +got):\n%s", diff)
	}
}

// TestConditionsOfTakenOver checks that a condition which another client makes its own during
// the drain is not removed.
func TestConditionsOfTakenOver(t *testing.T) {
	c := newReleased(t, "agent-taken-conditions", func(*cluster) {}) // no kubelet ends the pod
	c.awaitStep(v1alpha1.StepDraining)
	c.awaitConditions("DrainInProgress, MaintenancePlanned")
	c.setCondition("MaintenancePlanned", "True", "Hardware")
	c.freeze("taken-over", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	c.awaitStep(v1alpha1.StepWaiting)
	c.awaitConditions("MaintenancePlanned of Hardware")
	c.checkFree()
}

// TestConditionsAfterDeadAgent checks that what an agent left behind is removed by the next one, also
// on a node that is not managed any more, and that of another client is not.
func TestConditionsAfterDeadAgent(t *testing.T) {
	c := newReleased(t, "agent-left-conditions", func(*cluster) {})
	c.awaitStep(v1alpha1.StepDraining)
	c.awaitConditions("DrainInProgress, MaintenancePlanned")
	c.kill()
	c.setCondition("MaintenanceInProgress", "True", "Hardware")
	c.order(v1alpha1.ReleaseNone, func(s *v1alpha1.NodeUpgradeSpec) { s.Managed, s.Upgrade, s.Version, s.Image = false, nil, "", nil })
	time.Sleep(time.Second)
	c.awaitConditions("DrainInProgress, MaintenanceInProgress of Hardware, MaintenancePlanned")
	c.run()
	c.awaitConditions("MaintenanceInProgress of Hardware")
	c.await("nothing is left", func(agentStatus) bool { return !c.host.HasFiles() })
}

// TestConditionsWithoutNodeUpgrade checks that nothing stays if the NodeUpgrade is deleted, too.
func TestConditionsWithoutNodeUpgrade(t *testing.T) {
	c := newReleased(t, "agent-forgotten-conditions", func(*cluster) {})
	c.awaitStep(v1alpha1.StepDraining)
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.awaitConditions("")
}

// TestRefusedConditions checks that an upgrade does not depend on its conditions, and that they
// are written when that is possible again.
func TestRefusedConditions(t *testing.T) {
	var allow func()
	c := newReleased(t, "agent-refused-conditions", func(c *cluster) { allow = c.refuse("", "nodes/status") })
	c.awaitStep(v1alpha1.StepDraining)
	for end := time.Now().Add(time.Minute); !strings.Contains(c.logged(), "writing the conditions of the Node"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not have the refused write: %s", c.logged())
		}
	}
	c.awaitConditions("")
	allow()
	c.awaitConditions("DrainInProgress, MaintenancePlanned")
	allow = c.refuse("", "nodes/status")
	c.freeze("refused-conditions", time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
	c.awaitStep(v1alpha1.StepWaiting)
	c.checkFree()
	allow()
	c.awaitConditions("")
}
