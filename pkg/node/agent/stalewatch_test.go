package agent

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// TestNoFreeOnStaleWatch checks that the slot is not freed while the node is cordoned, though
// the watch does not show the cordon yet: otherwise another node would begin.
func TestNoFreeOnStaleWatch(t *testing.T) {
	seen := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", UID: "u"}}
	cordoned := seen.DeepCopy()
	cordoned.Spec.Unschedulable = true
	cordoned.Annotations = map[string]string{v1alpha1.SlotAnnotation: "slot-0", v1alpha1.CordonAnnotation: "patch"}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: "slot-0", Labels: map[string]string{v1alpha1.SlotLabel: "true"},
	}}
	lease.Spec.HolderIdentity = ptr.To(ownerOf(seen).String())
	upgrades, err := kube.NewKinds(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, live := range map[string]*corev1.Node{"cordoned": cordoned, "in service": seen} {
		account := fake.NewClientset(lease.DeepCopy())
		a := New(Config{Node: "worker", Account: kubetest.Of(account), Kubelet: kubetest.Of(fake.NewClientset(live)), Upgrades: upgrades, Now: time.Now})
		if err := a.kubelet.nodes.GetStore().Add(seen); err != nil {
			t.Fatal(err)
		}
		r := &round{Observation: machine.Observation{Slot: machine.Slot{Held: "slot-0"}}}
		_, err := a.act(t.Context(), machine.Action{Do: machine.DoFree}, r)
		got, readErr := account.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-0", metav1.GetOptions{})
		if readErr != nil {
			t.Fatal(readErr)
		}
		s, readErr := slot.FromLease(got)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if refused := name == "cordoned"; refused != (err != nil) || refused == s.Free() {
			t.Errorf("%s: %v, slot %+v", name, err, s)
		}
	}
}
