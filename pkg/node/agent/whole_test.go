package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// has sets how many GPUs the Node has, and its taint.
func (c *cluster) has(gpus int, taint string) {
	c.kubectl("patch", "node", c.node, "--subresource", "status", "--type", "merge", "-p", fmt.Sprintf(`{"status":{"allocatable":{"example.com/gpu":"%d"}}}`, gpus))
	taints := "null"
	if taint != "" {
		taints = fmt.Sprintf(`[{"key":%q,"effect":"NoSchedule"}]`, taint)
	}
	c.kubectl("patch", "node", c.node, "--type", "merge", "-p", `{"spec":{"taints":`+taints+`}}`)
}

// drivers writes the node's CSINode.
func (c *cluster) drivers(names ...string) {
	c.t.Helper()
	nodes := c.admin.StorageV1().CSINodes()
	_ = nodes.Delete(context.Background(), c.node, metav1.DeleteOptions{})
	object := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: c.node}}
	for _, name := range names {
		object.Spec.Drivers = append(object.Spec.Drivers, storagev1.CSINodeDriver{Name: name, NodeID: c.node})
	}
	_, err := nodes.Create(context.Background(), object, metav1.CreateOptions{})
	c.must(err)
}

// daemonSet creates a DaemonSet with a pod on the node.
func (c *cluster) daemonSet(name string) {
	c.t.Helper()
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	labels := map[string]string{"app": name}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "web"}}
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	made, err := c.admin.AppsV1().DaemonSets("default").Create(c.t.Context(), set, metav1.CreateOptions{})
	c.must(err)
	c.pod("default", name, func(p *corev1.Pod) {
		p.Labels, p.Spec.Tolerations = labels, set.Spec.Template.Spec.Tolerations
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(made, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	})
	c.podReady(name, corev1.ConditionTrue)
}

func (c *cluster) podReady(name string, ready corev1.ConditionStatus) {
	_, err := c.admin.CoreV1().Pods("default").Patch(context.Background(), name, types.StrategicMergePatchType,
		fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, ready), metav1.PatchOptions{}, "status")
	if err != nil {
		c.t.Error(err)
	}
}

// wholeCluster has a node with a part of each kind that the API server shows. None of them comes back from a reboot, and a
// taint comes.
func wholeCluster(t *testing.T, node string) *cluster {
	c := newCluster(t, node)
	c.kubelet()
	for _, name := range []string{"csi.example.com", "removed.example.com"} {
		_, err := c.admin.StorageV1().CSIDrivers().Create(t.Context(), &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		c.must(err)
	}
	c.daemonSet("gpu")
	c.daemonSet("removed")
	c.drivers("csi.example.com", "removed.example.com")
	c.has(8, "")
	c.host.OnReboot = func(boot string) {
		c.kill()
		c.has(0, "late")
		c.drivers()
		c.podReady("gpu", corev1.ConditionFalse)
		c.podReady("removed", corev1.ConditionFalse)
		c.boot(boot)
	}
	return c
}

func lacking(parts ...string) func(agentStatus) bool {
	return func(s agentStatus) bool {
		return s.Reason == v1alpha1.ReasonNotWhole && strings.HasSuffix(s.Message, strings.Join(parts, "; "))
	}
}

// TestIsBackWhenItIsWhole checks that a node waits for what it had, by what its kubelet may read alone, part by part and
// with another agent; that it does not wait for what was removed; and that it is uncordoned before it waits for the taint.
func TestIsBackWhenItIsWhole(t *testing.T) {
	c := wholeCluster(t, "agent-whole")
	c.order(v1alpha1.ReleaseNode)
	c.run()
	const gpus, driver, set = "example.com/gpu 0 of 8", "driver csi.example.com", "DaemonSet default/gpu"
	status := c.await("it lacks all", lacking(gpus, driver, "driver removed.example.com", set, "DaemonSet default/removed"))
	want := &v1alpha1.NodeParts{
		Resources: []v1alpha1.NodeResource{{Name: "example.com/gpu", Allocatable: 8}},
		Drivers:   []string{"csi.example.com", "removed.example.com"}, DaemonSets: []string{"default/gpu", "default/removed"},
	}
	if diff := cmp.Diff(want, status.PartsBefore); diff != "" || status.Step != v1alpha1.StepSettling || status.StepEndTime == nil {
		t.Errorf("in step %s until %v; what it had (-want +got):\n%s", status.Step, status.StepEndTime, diff)
	}
	ctx := context.Background()
	c.must(c.admin.StorageV1().CSIDrivers().Delete(ctx, "removed.example.com", metav1.DeleteOptions{}))
	c.must(c.admin.AppsV1().DaemonSets("default").Delete(ctx, "removed", metav1.DeleteOptions{}))
	c.await("nothing removed is missing", lacking(gpus, driver, set))
	c.has(8, "late")
	c.await("the GPUs are back", lacking(driver, set))
	c.kill()
	c.run()
	c.drivers("csi.example.com")
	c.await("the driver is back", func(s agentStatus) bool { return lacking(set)(s) && s.Step == v1alpha1.StepSettling })
	c.podReady("gpu", corev1.ConditionTrue)
	status = c.await("it waits in service", lacking("taint late:NoSchedule"))
	node, err := c.admin.CoreV1().Nodes().Get(ctx, c.node, metav1.GetOptions{})
	c.must(err)
	if node.Spec.Unschedulable || status.Step != v1alpha1.StepObserving || status.Slot == "" {
		t.Errorf("cordoned %t, step %s, slot %q", node.Spec.Unschedulable, status.Step, status.Slot)
	}
	c.has(8, "")
	status = c.awaitStep(v1alpha1.StepIdle)
	if status.PartsBefore != nil || !slices.Contains(stepsOf(status), v1alpha1.StepObserving) {
		t.Errorf("status %+v", status)
	}
	c.checkFree()
}

// TestNotWholeFails checks that a node fails without a part that never comes, and goes on once that is ignored, or is there.
func TestNotWholeFails(t *testing.T) {
	c := wholeCluster(t, "agent-not-whole")
	short := func(s *v1alpha1.NodeUpgradeSpec) {
		s.Whole.TimeoutSeconds, s.Whole.Drivers, s.Whole.DaemonSets, s.Whole.Taints = ptr.To[int32](4), v1alpha1.PartIgnore, v1alpha1.PartIgnore, v1alpha1.PartIgnore
	}
	c.order(v1alpha1.ReleaseNode, short)
	c.run()
	status := c.awaitStep(v1alpha1.StepFailed)
	if want := "not back 4s after the settle time: example.com/gpu 0 of 8"; status.Reason != v1alpha1.ReasonNotWhole || status.Message != want || status.Slot == "" {
		t.Errorf("got %s: %s, slot %q; want %q", status.Reason, status.Message, status.Slot, want)
	}
	time.Sleep(3 * time.Second)
	if step := c.status().Step; step != v1alpha1.StepFailed {
		t.Errorf("it went on without its GPUs: %s", step)
	}
	c.order(v1alpha1.ReleaseNode, short, func(s *v1alpha1.NodeUpgradeSpec) { s.Whole.Resources = v1alpha1.PartIgnore })
	c.awaitStep(v1alpha1.StepIdle)
	c.checkFree()
}
