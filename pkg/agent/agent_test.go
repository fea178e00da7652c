package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var wholeWay = []v1alpha1.Step{
	v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepLocking, v1alpha1.StepKubeadm, v1alpha1.StepCordoning,
	v1alpha1.StepDraining, v1alpha1.StepLastCheck, v1alpha1.StepActivating, v1alpha1.StepRebooting,
	v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning, v1alpha1.StepUnlocking,
}

func stepsOf(status told) []v1alpha1.Step {
	var steps []v1alpha1.Step
	for _, s := range status.Steps {
		steps = append(steps, s.Step)
	}
	return steps
}

// replicated is a pod that a controller starts again elsewhere.
func replicated(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: types.UID("x"), Controller: ptr.To(true)}}
}

func TestWorker(t *testing.T) {
	c := newCluster(t, "agent-worker")
	c.kubelet()
	c.pod("default", "web-"+c.node, replicated)
	seen := c.record()
	c.order(v1alpha1.ReleaseNone)
	c.run()
	waiting := c.await("it is staged", func(s told) bool { return s.Versions.Staged == "v1.34.4" })
	if waiting.Reason != v1alpha1.ReasonAwaitingRelease || waiting.Step != v1alpha1.StepWaiting {
		t.Errorf("%s (%s: %s)", waiting.Step, waiting.Reason, waiting.Message)
	}
	c.order(v1alpha1.ReleaseNode)
	status := c.awaitStep(v1alpha1.StepIdle)

	if diff := cmp.Diff(wholeWay, stepsOf(status)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if status.Versions.Kubelet != "v1.34.4" || status.Slot != "" || status.Retry.Attempts != 1 || *status.Upgrade != *c.upgrade("patch") {
		t.Errorf("status %+v", status)
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate"}, c.host.began); diff != "" || c.host.reboots != 1 {
		t.Errorf("%d reboots; work on the host:\n%s", c.host.reboots, diff)
	}
	want := []string{"in service", "cordoned by us, slot-0", "in service"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.free()
	c.events("UpgradeCordoning", "UpgradeRebooting", "UpgradeIdle")
}

// An agent that is killed in the middle of each step leaves nothing half.
func TestKilledInEachStep(t *testing.T) {
	c := newCluster(t, "agent-killed")
	c.kubelet()
	c.host.takes = 150 * time.Millisecond
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNone)
	c.run()
	c.awaitStep(v1alpha1.StepWaiting)
	c.order(v1alpha1.ReleaseNode)
	killed := map[v1alpha1.Step]bool{}
	deadline := time.Now().Add(60 * time.Second)
	for status := c.status(); status.Step != v1alpha1.StepIdle; status = c.status() {
		if time.Now().After(deadline) {
			t.Fatalf("does not arrive: %+v", status)
		}
		if !killed[status.Step] {
			killed[status.Step] = true
			c.kill()
			c.run()
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, step := range []v1alpha1.Step{v1alpha1.StepKubeadm, v1alpha1.StepDraining, v1alpha1.StepActivating, v1alpha1.StepSettling} {
		if !killed[step] {
			t.Errorf("was never seen in step %s: killed in %v", step, killed)
		}
	}
	if diff := cmp.Diff([]string{"stage", "kubeadm", "activate"}, c.host.began); diff != "" || c.host.reboots != 1 {
		t.Errorf("%d reboots; work on the host:\n%s", c.host.reboots, diff)
	}
	c.free()
}

// A cordon of another client stays, and the slot is marked all the same.
func TestForeignCordon(t *testing.T) {
	c := newCluster(t, "agent-cordoned")
	c.kubelet()
	c.kubectl("cordon", c.node)
	seen := c.record()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepIdle)
	want := []string{"cordoned by somebody", "cordoned by somebody, slot-0", "cordoned by somebody"}
	if diff := cmp.Diff(want, seen()); diff != "" {
		t.Errorf("the Node (-want +got):\n%s", diff)
	}
	c.free()
}

// A freeze that the coordinator has not seen yet keeps the node where it is.
func TestGateIsReadLive(t *testing.T) {
	c := newCluster(t, "agent-frozen")
	freeze := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}}
	freeze.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Reason: "quarter end", Period: v1alpha1.Period{
		Name: "freeze", StartTime: metav1.NewTime(time.Now().Add(-time.Hour)), EndTime: metav1.NewTime(time.Now().Add(time.Hour)),
	}}}
	c.create(freeze)
	defer func() {
		c.must(c.ours.MaintenanceSchedules.Delete(context.Background(), "freeze", metav1.DeleteOptions{}))
	}()
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("it is excluded", func(s told) bool { return s.Reason == v1alpha1.ReasonExcluded })
	if status.Step != v1alpha1.StepLocking || status.StepEndTime == nil || !strings.Contains(status.Message, "quarter end") {
		t.Errorf("status %+v", status)
	}
	if slices.Contains(c.host.began, "kubeadm") {
		t.Error("kubeadm ran during an exclusion")
	}
	c.order(v1alpha1.ReleaseNone)
	c.must(c.slots.Withdraw(t.Context(), c.owner))
	c.awaitStep(v1alpha1.StepWaiting)
	c.free()
}

// Somebody deletes the NodeUpgrade of a node that is out of service, and there
// is no coordinator to make it anew: the node is given back.
func TestNodeUpgradeIsDeleted(t *testing.T) {
	c := newCluster(t, "agent-forgotten")
	c.pod("default", "web-"+c.node, replicated) // with no kubelet to end it
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepDraining)
	c.must(c.ours.NodeUpgrades.Delete(t.Context(), c.node, metav1.DeleteOptions{}))
	held := true
	for range 200 {
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
		t.Error("the node stays out of service")
	}
	c.free()
}

// What an earlier node of that name left behind is not this one's past.
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
	status := c.await("it begins anew", func(s told) bool { return s.Versions.Staged == "v1.34.4" })
	if status.Retry.Attempts != 0 || status.Step != v1alpha1.StepWaiting {
		t.Errorf("status %+v", status)
	}
}

// An image that cannot be trusted leaves the node in service, and says so.
func TestBadImage(t *testing.T) {
	c := newCluster(t, "agent-bad-image")
	c.host.fail[verb.Stage] = &host.Result{Reason: v1alpha1.ReasonHashMismatch, Message: "sha256 is bbbb, not aaaa"}
	c.order(v1alpha1.ReleaseNone)
	c.run()
	status := c.await("it says so", func(s told) bool { return s.Reason == v1alpha1.ReasonHashMismatch })
	if status.Step != v1alpha1.StepStaging || status.Retry.Time == nil || status.Versions.Staged != "" || status.Message != "sha256 is bbbb, not aaaa" {
		t.Errorf("status %+v", status)
	}
	c.await("it tries again by itself", func(s told) bool { return s.Versions.Staged == "v1.34.4" })
}

// free checks that nothing of the upgrade is left on Node and slot.
func (c *cluster) free() {
	c.t.Helper()
	lease, err := c.admin.CoordinationV1().Leases(v1alpha1.Namespace).Get(context.Background(), "slot-0", metav1.GetOptions{})
	c.must(err)
	if lease.Spec.HolderIdentity != nil || lease.Annotations[v1alpha1.ReservedForAnnotation] != "" {
		c.t.Errorf("the slot is not free: %+v", lease)
	}
}

// events waits for events on the Node, as `kubectl describe node` finds them.
func (c *cluster) events(want ...string) {
	c.t.Helper()
	var got []string
	for range 100 {
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
	c.t.Errorf("events %v, want %v among them", got, want)
}

// record watches the Node from now on. The function that it returns tells how
// it went, changes only.
func (c *cluster) record() func() []string {
	c.t.Helper()
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	seen := []string{marksOf(node)}
	watcher, err := c.admin.CoreV1().Nodes().Watch(c.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + c.node, ResourceVersion: node.ResourceVersion})
	c.must(err)
	told := make(chan []string)
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
		told <- seen
	}()
	return func() []string {
		watcher.Stop()
		return <-told
	}
}

func marksOf(node *corev1.Node) string {
	seen := "in service"
	if node.Spec.Unschedulable {
		seen = "cordoned by somebody"
	}
	if node.Annotations[v1alpha1.CordonAnnotation] != "" {
		seen = strings.Replace(seen, "by somebody", "by us", 1)
	}
	if slot := node.Annotations[v1alpha1.SlotAnnotation]; slot != "" {
		seen += ", " + slot
	}
	return seen
}
