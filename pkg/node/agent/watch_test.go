package agent

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// TestTrimKeepsCordonSetters checks that a watched Node has lost its managedFields, but for those by which
// the agent tells its cordon from that of others.
func TestTrimKeepsCordonSetters(t *testing.T) {
	fields := func(manager, text string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(text)}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		fields("kubelet", `{"f:status":{"f:conditions":{}}}`),
		fields("kubectl-cordon", `{"f:spec":{"f:unschedulable":{}}}`),
		fields("kubeadm", `{"f:spec":{"f:taints":{}}}`),
		{Manager: "without fields"},
	}}}
	if _, err := trim(node); err != nil {
		t.Fatal(err)
	}
	if len(node.ManagedFields) != 1 || node.ManagedFields[0].Manager != "kubectl-cordon" || !setByOthers(node, cordonField) {
		t.Errorf("kept %+v", node.ManagedFields)
	}
	node.ManagedFields = append(node.ManagedFields, fields(fieldManager, `{"f:spec":{"f:unschedulable":{}}}`))
	if _, err := trim(node); err != nil || len(node.ManagedFields) != 2 || setByOthers(node, cordonField) {
		t.Errorf("with our cordon: kept %+v, error %v", node.ManagedFields, err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ManagedFields: node.ManagedFields}}
	if _, err := trim(lease); err != nil || lease.ManagedFields != nil {
		t.Errorf("a Lease keeps %+v, error %v", lease.ManagedFields, err)
	}
}

// TestFreeReadsNode checks that a slot is freed without another read of the Node only if this agent has
// removed its marks.
func TestFreeReadsNode(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", UID: "u"}}
	for name, uncordoned := range map[string]bool{"restarted since": false, "uncordoned by this agent": true} {
		t.Run(name, func(t *testing.T) {
			a := unconnected(t)
			client := fake.NewClientset(node)
			a.Kubelet, a.kubelet.uncordoned = kubetest.Of(client), uncordoned
			if err := a.free(t.Context(), node, "slot-0"); err != nil {
				t.Fatal(err)
			}
			if reads := len(client.Actions()); (reads == 0) != uncordoned {
				t.Errorf("%d reads of the Node", reads)
			}
		})
	}
}
