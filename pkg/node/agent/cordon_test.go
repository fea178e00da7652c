package agent

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestPersonsCordonAfterOurs checks promise 5 on a node that settles: a person removes our cordon, and then
// cordons the node. Their cordon stays, whether the agent runs meanwhile or not.
func TestPersonsCordonAfterOurs(t *testing.T) {
	for name, runs := range map[string]bool{"agent-cordon": true, "agent-cordon-down": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, name)
			c.kubelet()
			c.host.SetKubeletProblem("it settles until the test goes on")
			c.order(v1alpha1.ReleaseNode)
			c.run()
			c.await("it settles", func(s agentStatus) bool {
				return s.Step == v1alpha1.StepSettling && s.Reason == v1alpha1.ReasonUnhealthy
			})
			if !runs {
				c.kill()
			}
			c.kubectl("uncordon", c.node)
			if runs {
				c.await("our mark is gone", func(agentStatus) bool {
					marks := c.nodeNow().Annotations
					return marks[v1alpha1.CordonAnnotation] == "" && marks[v1alpha1.SlotAnnotation] == "slot-0"
				})
			}
			c.kubectl("cordon", c.node)
			if !runs {
				c.run()
			}
			c.host.SetKubeletProblem("")
			c.awaitStep(v1alpha1.StepIdle)
			if got := marksOf(c.nodeNow()); got != "cordoned by another client" {
				t.Errorf("in the end the node is %s, want it cordoned by another client", got)
			}
			c.kubectl("uncordon", c.node)
			c.checkFree()
		})
	}
}

// nodeNow reads the test's Node.
func (c *cluster) nodeNow() *corev1.Node {
	c.t.Helper()
	node, err := c.admin.CoreV1().Nodes().Get(c.t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	return node
}

// TestCordonByFieldManager checks that the API server's field managers tell our cordon from one that
// kubectl sets after it has removed ours, and that a second cordon over ours changes nothing.
func TestCordonByFieldManager(t *testing.T) {
	c := newCluster(t, "agent-cordon-managers")
	const name = "agent-cordon-fields"
	nodes := c.admin.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}, metav1.CreateOptions{})
	c.must(err)
	data, err := json.Marshal(cordon(node, "patch", "slot-0"))
	c.must(err)
	_, err = nodes.Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
	c.must(err)
	byOthers := func(what string, want bool) {
		t.Helper()
		node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
		c.must(err)
		if got := setByOthers(node, cordonField); got != want {
			t.Errorf("%s: cordoned by others %t, want %t: %+v", what, got, want, node.ManagedFields)
		}
	}
	byOthers("we cordon", false)
	c.kubectl("cordon", name)
	byOthers("kubectl cordons over it", false)
	c.kubectl("uncordon", name)
	c.kubectl("cordon", name)
	byOthers("kubectl uncordons, and cordons", true)
}

// TestAutoscalerIsKeptAway checks that a cordoned node has the cluster autoscaler's annotation, and afterwards only that of
// a person.
func TestAutoscalerIsKeptAway(t *testing.T) {
	c := newCluster(t, "agent-autoscaler")
	nodes := c.admin.CoreV1().Nodes()
	write := func(name string, p nodePatch) {
		t.Helper()
		data, err := json.Marshal(p)
		c.must(err)
		_, err = nodes.Patch(t.Context(), name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: fieldManager})
		c.must(err)
	}
	for name, test := range map[string]struct {
		before map[string]string
		during func(name string)
		after  string
	}{
		"agent-autoscaler-none":   {nil, nil, ""},
		"agent-autoscaler-person": {map[string]string{v1alpha1.AutoscalerAnnotation: "true"}, nil, "true"},
		"agent-autoscaler-allows": {map[string]string{v1alpha1.AutoscalerAnnotation: "false"}, nil, "false"},
		"agent-autoscaler-later": {nil, func(name string) {
			c.kubectl("annotate", "node", name, v1alpha1.AutoscalerAnnotation+"-")
			c.kubectl("annotate", "node", name, v1alpha1.AutoscalerAnnotation+"=true")
		}, "true"},
	} {
		labels := map[string]string{corev1.LabelHostname: name} // the API server tracks no managers of an object without a field
		_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: test.before}}, metav1.CreateOptions{})
		c.must(err)
		get := func() *corev1.Node {
			node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
			c.must(err)
			return node
		}
		write(name, cordon(get(), "patch", "slot-0"))
		if node := get(); test.before == nil && (node.Annotations[v1alpha1.AutoscalerAnnotation] != "true" || node.Annotations[v1alpha1.ScaleDownAnnotation] != "patch") {
			t.Errorf("%s: while it is cordoned: %v", name, node.Annotations)
		}
		if test.during != nil {
			test.during(name)
		}
		write(name, uncordon(get()))
		if node := get(); node.Annotations[v1alpha1.AutoscalerAnnotation] != test.after || len(node.Annotations) > 1 {
			t.Errorf("%s: in the end: %v, want %q", name, node.Annotations, test.after)
		}
	}
}
