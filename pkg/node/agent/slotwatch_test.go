package agent

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// fakeClients reads Leases and Nodes of a fake clientset.
type fakeClients struct {
	kube.Interface
	client *fake.Clientset
}

func (f fakeClients) Leases(namespace string) kube.Leases {
	return listed{f.client.CoordinationV1().Leases(namespace)}
}

// listed is a kind of which a watch does not begin with a list.
type listed struct{ kube.Leases }

// IsWatchListSemanticsUnSupported tells an informer so.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func (f fakeClients) Nodes() kube.Nodes { return f.client.CoreV1().Nodes() }

// slotAgent returns an agent of node "w" that has decided nothing yet, on a cluster with three
// slots, of which slot-1 is reserved for that node.
func slotAgent(t *testing.T) (*Agent, *corev1.Node, *fake.Clientset) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "u"}}
	account := fake.NewClientset()
	for _, name := range []string{"slot-0", "slot-1", "slot-2"} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: name, Labels: map[string]string{v1alpha1.SlotLabel: "true"}}}
		if name == "slot-1" {
			lease.Annotations = map[string]string{v1alpha1.ReservedForAnnotation: ownerOf(node).String()}
		}
		if err := account.Tracker().Add(lease); err != nil {
			t.Fatal(err)
		}
	}
	upgrades, err := kube.NewKinds(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Node: "w", Account: fakeClients{client: account}, Kubelet: fakeClients{client: account}, Upgrades: upgrades, Now: time.Now})
	if err := a.kubelet.nodes.GetStore().Add(node); err != nil {
		t.Fatal(err)
	}
	return a, node, account
}

// roundOf returns a round in which a node with that step is looked at.
func roundOf(step v1alpha1.Step, order *v1alpha1.NodeUpgrade, node *corev1.Node) *round {
	return &round{state: machine.State{Step: step}, order: order, node: node, controlPlane: onControlPlane(node, nil)}
}

// TestSlotScope checks that an agent watches no other node's slot, unless it cannot know which
// is its own.
func TestSlotScope(t *testing.T) {
	every := slotScope{every: true}
	for name, test := range map[string]struct {
		step   v1alpha1.Step
		change func(*v1alpha1.NodeUpgrade, *corev1.Node)
		want   slotScope
	}{
		"at rest":                     {v1alpha1.StepIdle, nil, slotScope{}},
		"it waits":                    {v1alpha1.StepWaiting, nil, slotScope{}},
		"released":                    {v1alpha1.StepWaiting, func(u *v1alpha1.NodeUpgrade, _ *corev1.Node) { u.Spec.Slot = "slot-1" }, slotScope{name: "slot-1"}},
		"released without a name":     {v1alpha1.StepWaiting, func(u *v1alpha1.NodeUpgrade, _ *corev1.Node) { u.Spec.Release = v1alpha1.ReleaseNode }, every},
		"the order has lost the slot": {v1alpha1.StepDraining, nil, every},
		"only the mark says so": {v1alpha1.StepIdle, func(_ *v1alpha1.NodeUpgrade, n *corev1.Node) {
			n.Annotations = map[string]string{v1alpha1.SlotAnnotation: "slot-1"}
		}, every},
		"only the last status says so": {v1alpha1.StepIdle, func(u *v1alpha1.NodeUpgrade, _ *corev1.Node) { u.Status.Slot = "slot-1" }, every},
		"nothing is known of the node": {"", nil, every},
		"a control plane, for its etcd": {v1alpha1.StepIdle, func(_ *v1alpha1.NodeUpgrade, n *corev1.Node) {
			n.Labels = map[string]string{"node-role.kubernetes.io/control-plane": ""}
		}, every},
	} {
		a, node, _ := slotAgent(t)
		nu := &v1alpha1.NodeUpgrade{}
		if test.change != nil {
			test.change(nu, node)
		}
		if got := a.slots.scope(roundOf(test.step, nu, node)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
		if got := a.slots.scope(roundOf(test.step, nil, node)); got != every {
			t.Errorf("%s, without a NodeUpgrade: got %+v", name, got)
		}
	}
}

// TestSlotWatchFollows checks that a watch is narrowed to the slot in the order, and stays with
// a slot that the node holds and its mark names, whatever the order says.
func TestSlotWatchFollows(t *testing.T) {
	a, node, account := slotAgent(t)
	nu := &v1alpha1.NodeUpgrade{}
	follow := func(want slotScope) {
		t.Helper()
		if err := a.slots.leases.follow(t.Context(), a.slots.scope(roundOf(v1alpha1.StepWaiting, nu, node))); err != nil {
			t.Fatal(err)
		}
		if a.slots.leases.scope != want {
			t.Errorf("it watches %+v, want %+v", a.slots.leases.scope, want)
		}
	}
	follow(slotScope{})
	if seen := a.slots.of(node, nu.Spec.Slot); seen.Reserved != "" || len(account.Actions()) > 0 {
		t.Errorf("at rest: %+v, requests %v", seen, account.Actions())
	}
	nu.Spec.Slot = "slot-1"
	follow(slotScope{name: "slot-1"})
	if seen := a.slots.of(node, nu.Spec.Slot); seen.Reserved != "slot-1" || seen.Held != "" {
		t.Errorf("released: %+v", seen)
	}
	for _, action := range account.Actions() {
		if w, is := action.(clienttesting.WatchAction); is && w.GetWatchRestrictions().Fields.String() != "metadata.name=slot-1" {
			t.Errorf("it watches Leases with %+v", w.GetWatchRestrictions())
		}
	}
	lease, err := account.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lease.Spec.HolderIdentity = ptr.To(ownerOf(node).String())
	if err := a.slots.leases.store.Update(lease); err != nil {
		t.Fatal(err)
	}
	node.Annotations = map[string]string{v1alpha1.SlotAnnotation: "slot-1"}
	nu.Spec.Slot = "slot-2"
	follow(slotScope{name: "slot-1"})
	node.Annotations = nil
	follow(slotScope{name: "slot-2"})
	if seen := a.slots.of(node, nu.Spec.Slot); seen != (machine.Slot{}) {
		t.Errorf("another slot than the one in the order counts: %+v", seen)
	}
}

// TestStepsListSlotsAgain checks that an agent by Steps lists slots again after a list that failed, as
// an informer does.
func TestStepsListSlotsAgain(t *testing.T) {
	a, _, _ := slotAgent(t)
	lists, want := 0, cache.NewStore(cache.MetaNamespaceKeyFunc)
	steps := NewDriver(a.Config, func(bool, string) (cache.Store, func()) {
		if lists++; lists == 1 {
			return nil, nil
		}
		return want, func() {}
	}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	every := slotScope{every: true}
	if err := steps.agent.slots.leases.follow(ctx, every); err == nil {
		t.Error("no error although the list failed")
	}
	if err := steps.agent.slots.leases.follow(t.Context(), every); err != nil || steps.agent.slots.leases.store != want {
		t.Errorf("the slots were not listed again, after %d lists: %v", lists, err)
	}
}
