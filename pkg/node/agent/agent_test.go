package agent

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var workerSteps = []v1alpha1.Step{
	v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepCordoning,
	v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRebooting,
	v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking,
}

func stepsOf(status agentStatus) []v1alpha1.Step {
	var steps []v1alpha1.Step
	for _, s := range status.Steps {
		steps = append(steps, s.Step)
	}
	return steps
}

// replicated makes a pod one that a controller starts again elsewhere.
func replicated(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: types.UID("x"), Controller: ptr.To(true)}}
}

// TestWorker upgrades a worker.
func TestWorker(t *testing.T) {
	c := newCluster(t, "agent-worker")
	c.kubelet()
	c.pod("default", "web-"+c.node, replicated)
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNone)
	c.run()
	waiting := c.await("it is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	if waiting.Reason != v1alpha1.ReasonAwaitingRelease || waiting.Step != v1alpha1.StepWaiting {
		t.Errorf("got step %s (%s: %s), want Waiting (AwaitingRelease)", waiting.Step, waiting.Reason, waiting.Message)
	}
	c.order(v1alpha1.ReleaseNode)
	status := c.awaitStep(v1alpha1.StepIdle)

	if diff := cmp.Diff(workerSteps, stepsOf(status)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if status.Versions.Kubelet != "v1.34.4" || status.Slot != "" || status.Retry.Attempts != 1 || *status.Upgrade != *c.upgrade("patch") {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate"}, c.host.Verbs()); diff != "" || c.host.RebootCount() != 1 {
		t.Errorf("got %d reboots; work on the host:\n%s", c.host.RebootCount(), diff)
	}
	want := []string{"in service", "cordoned by us, slot-0", "in service"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
	c.awaitEvents("UpgradeDraining", "UpgradeRebooting", "UpgradeIdle")
}

// TestKilledInEachStep checks that an agent which is killed in each step finishes, and does
// nothing twice.
func TestKilledInEachStep(t *testing.T) {
	c := newCluster(t, "agent-killed")
	c.kubelet()
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	settle := func(s *v1alpha1.NodeUpgradeSpec) { s.SettleSeconds = ptr.To[int32](3) }
	c.host.Hang(verb.Kubeadm)
	c.host.Hang(verb.Activate)
	c.order(v1alpha1.ReleaseNode, settle)
	c.killInEachStep(map[v1alpha1.Step]func(){
		v1alpha1.StepKubeadm:    func() { c.host.Finish(verb.Kubeadm) },
		v1alpha1.StepDraining:   c.kubelet,
		v1alpha1.StepActivating: func() { c.host.Finish(verb.Activate) },
		v1alpha1.StepSettling:   func() {},
	})
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate"}, c.host.Verbs()); diff != "" || c.host.RebootCount() != 1 {
		t.Errorf("got %d reboots; work on the host:\n%s", c.host.RebootCount(), diff)
	}
	c.checkFree()
}

// step returns the step that the agent entered last, by its log: a step that only passes is
// in no status.
func (c *cluster) step() (last v1alpha1.Step) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, found := range regexp.MustCompile(`msg="step (\w+)"`).FindAllStringSubmatch(c.log.String(), -1) {
		last = v1alpha1.Step(found[1])
	}
	return last
}

// killInEachStep replaces the agent once in each step in which it finds the node, until the
// node is Idle. It must find the node in the steps of proceed, and then calls their function
// so that the step can end.
func (c *cluster) killInEachStep(proceed map[v1alpha1.Step]func()) {
	c.t.Helper()
	killed := map[v1alpha1.Step]bool{}
	deadline := time.Now().Add(2 * time.Minute)
	for step := c.step(); step != v1alpha1.StepIdle; step = c.step() {
		if time.Now().After(deadline) {
			c.t.Fatalf("the upgrade has not finished: %+v", c.status())
		}
		if !killed[step] {
			killed[step] = true
			c.kill()
			c.run()
			if end := proceed[step]; end != nil {
				end()
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	for step := range proceed {
		if !killed[step] {
			c.t.Errorf("the agent was never killed in step %s, only in %v", step, killed)
		}
	}
}

// TestForeignCordon checks that another client's cordon stays, and that the slot is marked
// nevertheless.
func TestForeignCordon(t *testing.T) {
	c := newCluster(t, "agent-cordoned")
	c.kubelet()
	c.kubectl("cordon", c.node)
	seen := c.recordMarks()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepIdle)
	want := []string{"cordoned by another client", "cordoned by another client, slot-0", "cordoned by another client"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.checkFree()
}

// TestRulesReadLive checks that a freeze which the coordinator has not read yet holds the
// node.
func TestRulesReadLive(t *testing.T) {
	c := newCluster(t, "agent-frozen")
	freeze := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}}
	freeze.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Comment: "quarter end", Period: v1alpha1.Period{
		Name: "freeze", StartTime: metav1.NewTime(time.Now().Add(-time.Hour)), EndTime: metav1.NewTime(time.Now().Add(time.Hour)),
	}}}
	c.create(freeze)
	defer func() {
		c.must(c.ours.MaintenanceSchedules.Delete(context.Background(), "freeze", metav1.DeleteOptions{}))
	}()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("it is excluded", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonExcluded })
	if status.Step != v1alpha1.StepLocking || status.StepEndTime == nil || !strings.Contains(status.Message, "quarter end") {
		t.Errorf("status %+v", status)
	}
	if slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Error("kubeadm ran during an exclusion")
	}
	c.order(v1alpha1.ReleaseNone)
	c.must(c.slots.Withdraw(t.Context(), "slot-0", c.owner))
	c.awaitStep(v1alpha1.StepWaiting)
	c.checkFree()
}

// TestDeletedNodeUpgradeEndsAttempt checks that a node goes back into service if its
// NodeUpgrade is deleted and no coordinator creates it again.
func TestDeletedNodeUpgradeEndsAttempt(t *testing.T) {
	c := newCluster(t, "agent-forgotten")
	c.pod("default", "web-"+c.node, replicated) // no kubelet ends it
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepDraining)
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	held := true
	for range 600 {
		node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
		c.must(err)
		lease, err := c.admin.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-0", metav1.GetOptions{})
		c.must(err)
		if held = marksOf(node) != "in service" || lease.Spec.HolderIdentity != nil; !held {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if held {
		t.Error("the node is still out of service, or holds its slot")
	}
	c.checkFree()
}

// TestNodeJoinsAgain checks that neither the spec nor the status of an earlier node of the same
// name counts: the new node may not be managed. The coordinator deletes them.
func TestNodeJoinsAgain(t *testing.T) {
	c := newCluster(t, "agent-again")
	c.order(v1alpha1.ReleaseNone)
	old := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	old.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: c.node, UID: "of-the-former"}}
	_, err := c.ours.NodeUpgrades.Apply(t.Context(), old, "test", "")
	c.must(err)
	old = &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	old.Status = v1alpha1.NodeUpgradeStatus{Upgrade: c.upgrade("patch"), Step: v1alpha1.StepFailed, Retry: v1alpha1.Retry{Attempts: 3}}
	_, err = c.ours.NodeUpgrades.Apply(t.Context(), old, fieldManager, "status")
	c.must(err)
	c.run()
	time.Sleep(2 * time.Second)
	if began := c.host.Verbs(); len(began) > 0 || c.host.HasFiles() {
		t.Errorf("got work on the host %v and files %t by order of a former node, want none", began, c.host.HasFiles())
	}
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	c.order(v1alpha1.ReleaseNone)
	status := c.await("the image is staged", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
	if status.Retry.Attempts != 0 || status.Step != v1alpha1.StepWaiting {
		t.Errorf("status %+v", status)
	}
}

// TestBadImage checks that a node whose image has the wrong hash stays in service, reports
// it and retries.
func TestBadImage(t *testing.T) {
	c := newCluster(t, "agent-bad-image")
	c.host.Fail[verb.Stage] = &verb.Result{Reason: v1alpha1.ReasonHashMismatch, Message: "sha256 is bbbb, not aaaa"}
	c.order(v1alpha1.ReleaseNone)
	c.run()
	status := c.await("the reason is HashMismatch", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonHashMismatch })
	if status.Step != v1alpha1.StepStaging || status.Retry.Time == nil || status.Versions.Staged != "" || status.Message != "sha256 is bbbb, not aaaa" {
		t.Errorf("status %+v", status)
	}
	c.await("the retry has staged the image", func(s agentStatus) bool { return s.Versions.Staged == "v1.34.4" })
}

// checkFree checks that the slot is free.
func (c *cluster) checkFree() {
	c.t.Helper()
	var lease *coordinationv1.Lease
	for range 100 { // a node that is up to date says so before it frees its slot
		var err error
		lease, err = c.admin.CoordinationV1().Leases(v1alpha1.Namespace).Get(context.Background(), "slot-0", metav1.GetOptions{})
		c.must(err)
		if lease.Spec.HolderIdentity == nil && lease.Annotations[v1alpha1.ReservedForAnnotation] == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("the slot is not free: %+v", lease)
}

// awaitEvents waits for events on the Node, as `kubectl describe node` finds them.
func (c *cluster) awaitEvents(want ...string) {
	c.t.Helper()
	var got []string
	for range 600 {
		got = nil
		list, err := c.admin.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.uid=" + c.owner.UID})
		c.must(err)
		for _, e := range list.Items {
			got = append(got, e.Reason)
		}
		missing := slices.ContainsFunc(want, func(reason string) bool { return !slices.Contains(got, reason) })
		if !missing {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Errorf("got events %v, want %v among them", got, want)
}

// recordMarks watches the Node from now on. The function that it returns stops that, and
// returns the node's marks, one for each change.
func (c *cluster) recordMarks() func() []string {
	c.t.Helper()
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	seen := []string{marksOf(node)}
	watcher, err := c.admin.CoreV1().Nodes().Watch(c.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + c.node, ResourceVersion: node.ResourceVersion})
	c.must(err)
	recorded := make(chan []string)
	go func() {
		for event := range watcher.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok || event.Type != watch.Modified {
				continue
			}
			if now := marksOf(node); now != seen[len(seen)-1] {
				seen = append(seen, now)
			}
		}
		recorded <- seen
	}()
	return func() []string {
		watcher.Stop()
		return <-recorded
	}
}

func marksOf(node *corev1.Node) string {
	seen := "in service"
	if node.Spec.Unschedulable {
		seen = "cordoned by another client"
	}
	if node.Annotations[v1alpha1.CordonAnnotation] != "" {
		seen = strings.Replace(seen, "by another client", "by us", 1)
	}
	if slot := node.Annotations[v1alpha1.SlotAnnotation]; slot != "" {
		seen += ", " + slot
	}
	if _, ours := node.Annotations[v1alpha1.ScaleDownAnnotation]; ours && node.Annotations[v1alpha1.AutoscalerAnnotation] != "true" || !ours && node.Annotations[v1alpha1.AutoscalerAnnotation] != "" {
		seen += ", half annotated for the autoscaler"
	}
	return seen
}
