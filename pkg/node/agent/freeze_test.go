package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// freeze creates an exclusion between two instants. It is deleted by thaw, or when the test
// ends.
func (c *cluster) freeze(name string, from, until time.Time) (thaw func()) {
	c.t.Helper()
	freeze := &v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	freeze.Spec.MaintenanceExclusions = []v1alpha1.MaintenanceExclusion{{Period: v1alpha1.Period{
		Name: "freeze", StartTime: metav1.NewTime(from), EndTime: metav1.NewTime(until),
	}}}
	c.create(freeze)
	thaw = sync.OnceFunc(func() {
		c.must(c.ours.MaintenanceSchedules.Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	c.t.Cleanup(thaw)
	return thaw
}

func expects(d time.Duration) func(*v1alpha1.NodeUpgradeSpec) {
	return func(s *v1alpha1.NodeUpgradeSpec) { s.ExpectedSeconds = ptr.To(int32(d.Seconds())) }
}

// TestRemainingTimeIsReadLive checks that a node which would not be done before the window
// closes does not begin, and that this does not stop one that has begun.
func TestRemainingTimeIsReadLive(t *testing.T) {
	c := newCluster(t, "agent-late")
	c.pod("default", "web-"+c.node, replicated)
	closes := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	c.freeze("soon", closes, closes.Add(time.Hour))
	c.order(v1alpha1.ReleaseNode, expects(20*time.Minute))
	c.run()
	status := c.await("there is not enough time", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonInsufficientTime })
	if status.Step != v1alpha1.StepLocking || status.Slot != "" || !strings.Contains(status.Message, "expected to need 20m0s") {
		t.Errorf("status %+v", status)
	}
	if status.StepEndTime == nil || !status.StepEndTime.Time.Equal(closes.Add(time.Hour)) {
		t.Errorf("the hold ends at %v, want the end of the exclusion, %v", status.StepEndTime, closes.Add(time.Hour))
	}
	if slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Error("kubeadm ran")
	}
	c.order(v1alpha1.ReleaseNode, expects(5*time.Minute))
	c.awaitStep(v1alpha1.StepDraining)
	c.order(v1alpha1.ReleaseNode, expects(20*time.Minute))
	c.kubelet()
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestOtherRebootManagerIsReadLive checks that a node does not begin when kured takes its
// lock after the release, before any coordinator has read that.
func TestOtherRebootManagerIsReadLive(t *testing.T) {
	c := newCluster(t, "agent-kured")
	c.kubelet()
	const lock = "weave.works/kured-node-lock"
	labels := map[string]string{"name": "kured"}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "kured", Annotations: map[string]string{lock: `{"nodeID":"elsewhere"}`}}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.HostPID = true
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kured", Image: "ghcr.io/kubereboot/kured"}}
	made, err := c.admin.AppsV1().DaemonSets("kube-system").Create(t.Context(), d, metav1.CreateOptions{})
	c.must(err)
	made.Status.ObservedGeneration, made.Status.UpdatedNumberScheduled = made.Generation, 1
	made, err = c.admin.AppsV1().DaemonSets("kube-system").UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	c.must(err)
	t.Cleanup(func() {
		c.must(c.admin.AppsV1().DaemonSets("kube-system").Delete(context.Background(), "kured", metav1.DeleteOptions{}))
	})
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the reason is OtherRebootManager", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOtherRebootManager })
	if status.Step != v1alpha1.StepLocking || status.Slot != "" || !strings.Contains(status.Message, "kured holds its lock for node elsewhere") {
		t.Errorf("status %+v", status)
	}
	if slices.Contains(c.host.Verbs(), "kubeadm") {
		t.Error("kubeadm ran")
	}
	delete(made.Annotations, lock)
	_, err = c.admin.AppsV1().DaemonSets("kube-system").Update(t.Context(), made, metav1.UpdateOptions{})
	c.must(err)
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestFormerPodOfKuredCounts checks that a node does not begin while kured holds its lock and runs
// from a former template of its DaemonSet, as it does with the strategy OnDelete.
func TestFormerPodOfKuredCounts(t *testing.T) {
	c := newCluster(t, "agent-kured-former")
	c.kubelet()
	const lock = "weave.works/kured-node-lock"
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "kured-former", Annotations: map[string]string{lock: `{"nodeID":"elsewhere"}`}}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": d.Name}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	d.Spec.Template.Spec.HostPID = true
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "kured", Image: "ghcr.io/kubereboot/kured"}}
	sets := c.admin.AppsV1().DaemonSets("kube-system")
	made, err := sets.Create(t.Context(), d, metav1.CreateOptions{})
	c.must(err)
	t.Cleanup(func() { c.must(sets.Delete(context.Background(), d.Name, metav1.DeleteOptions{})) })
	made.Status.ObservedGeneration, made.Status.CurrentNumberScheduled = made.Generation, 1
	_, err = sets.UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
	c.must(err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(made, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	pod.Spec.NodeName = c.node
	_, err = c.admin.CoreV1().Pods("kube-system").Create(t.Context(), pod, metav1.CreateOptions{})
	c.must(err)
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the reason is OtherRebootManager", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOtherRebootManager })
	if status.Step != v1alpha1.StepLocking || !strings.Contains(status.Message, "kured holds its lock for node elsewhere") {
		t.Errorf("status %+v", status)
	}
	c.must(c.admin.CoreV1().Pods("kube-system").Delete(t.Context(), pod.Name, *metav1.NewDeleteOptions(0)))
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestFLUOIsReadLive checks that a node does not begin when FLUO has annotated it for a
// reboot, unless a person ignores the check.
func TestFLUOIsReadLive(t *testing.T) {
	c := newCluster(t, "agent-fluo")
	const needed = "flatcar-linux-update.v1.flatcar-linux.net/reboot-needed"
	c.kubectl("annotate", "node", c.node, needed+"=true")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	status := c.await("the reason is OtherRebootManager", func(s agentStatus) bool { return s.Reason == v1alpha1.ReasonOtherRebootManager })
	if status.Step != v1alpha1.StepLocking || !strings.Contains(status.Message, "FLUO is about to reboot node agent-fluo") {
		t.Errorf("status %+v", status)
	}
	c.kubectl("patch", "clusterupgrade", "patch", "--type", "merge", "-p", `{"spec":{"ignoreChecks":[{"id":"fluo","comment":"a test"}]}}`)
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}

// TestAbortedNodeReportsItsReason checks that a node which aborted because of a freeze still
// reports the freeze afterwards, and not that it has no slot.
func TestAbortedNodeReportsItsReason(t *testing.T) {
	c := newCluster(t, "agent-gives-up")
	c.pod("default", "web-"+c.node, replicated)
	c.order(v1alpha1.ReleaseNode)
	c.run()
	c.awaitStep(v1alpha1.StepDraining)
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	c.freeze("sudden", time.Now().Add(-time.Minute), until)
	c.kubelet()
	c.awaitStep(v1alpha1.StepWaiting)
	time.Sleep(2 * time.Second) // enough reconciles to report another reason
	status := c.status()
	if status.Reason != v1alpha1.ReasonExcluded || status.StepEndTime == nil || !status.StepEndTime.Time.Equal(until) || status.Retry.Attempts != 0 {
		t.Errorf("status %+v, want Excluded until %v", status, until)
	}
	node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	if marks := marksOf(node); marks != "in service" {
		t.Errorf("the Node is %q, want it in service", marks)
	}
	c.checkFree()
}
