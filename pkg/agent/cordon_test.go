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
// cordons the node. Their cordon stays.
func TestPersonsCordonAfterOurs(t *testing.T) {
	c := newCluster(t, "agent-cordon")
	c.kubelet()
	c.order(v1alpha1.ReleaseNode, func(s *v1alpha1.NodeUpgradeSpec) { *s.SettleSeconds = 6 })
	c.run()
	c.awaitStep(v1alpha1.StepSettling)
	c.kubectl("uncordon", c.node)
	c.await("the mark is gone", func(agentStatus) bool {
		node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
		c.must(err)
		return node.Annotations[v1alpha1.CordonAnnotation] == ""
	})
	c.kubectl("cordon", c.node)
	c.awaitStep(v1alpha1.StepIdle)
	node, err := c.admin.CoreV1().Nodes().Get(t.Context(), c.node, metav1.GetOptions{})
	c.must(err)
	if got := marksOf(node); got != "cordoned by another client" {
		t.Errorf("in the end the node is %s, want it cordoned by another client", got)
	}
	c.kubectl("uncordon", c.node)
	c.checkFree()
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
		if got := cordonedByOthers(node); got != want {
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
