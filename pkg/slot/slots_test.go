package slot

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// What the slots promise is tested twice: in memory, and against a real API
// server, which alone knows what a conflict is.
func TestSlots(t *testing.T) {
	t.Run("fake", func(t *testing.T) { promises(t, fake.NewClientset()) })
	t.Run("real", func(t *testing.T) { promises(t, real(t)) })
}

func real(t *testing.T) kubernetes.Interface {
	config := apitest.Start(t)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return client
}

func promises(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	s := newSlots(client)
	a, b := addNode(t, client, "slot-a"), addNode(t, client, "slot-b")

	step(t, "three are made", s.Ensure(ctx, 3), nil)
	compare(t, s, "slot-0: -", "slot-1: -", "slot-2: -")
	step(t, "spare ones go", s.Ensure(ctx, 2), nil)
	compare(t, s, "slot-0: -", "slot-1: -")

	step(t, "nothing is taken unreserved", s.Take(ctx, "slot-0", a), ErrNotReserved)
	step(t, "a gets a reservation", s.Reserve(ctx, "slot-0", a), nil)
	step(t, "twice is once", s.Reserve(ctx, "slot-0", a), nil)
	step(t, "b does not get the same", s.Reserve(ctx, "slot-0", b), ErrTaken)
	step(t, "a reserved slot is no spare one", s.Ensure(ctx, 0), nil)
	step(t, "and one more comes back", s.Ensure(ctx, 2), nil)
	compare(t, s, "slot-0: for slot-a", "slot-1: -")

	step(t, "another node under that name is another node", s.Take(ctx, "slot-0", clusterstate.Owner{Node: a.Node, UID: "joined-anew"}), ErrNotReserved)
	step(t, "a takes it", s.Take(ctx, "slot-0", a), nil)
	step(t, "a held slot is not withdrawn", s.Withdraw(ctx, "slot-0", a), ErrTaken)
	step(t, "another is reserved for it", s.Reserve(ctx, "slot-1", a), nil)
	step(t, "which is withdrawn, although it holds one", s.Withdraw(ctx, "slot-1", a), nil)
	compare(t, s, "slot-0: held by slot-a", "slot-1: -")
	step(t, "nor reaped while the node is there", s.Reap(ctx, a), ErrNodeExists)
	step(t, "b cannot free it", s.Free(ctx, "slot-0", b), nil)
	compare(t, s, "slot-0: held by slot-a", "slot-1: -")
	step(t, "a frees it with its reservation", s.Free(ctx, "slot-0", a), nil)
	step(t, "and may say so twice", s.Free(ctx, "slot-0", a), nil)
	compare(t, s, "slot-0: -", "slot-1: -")

	step(t, "b is next", s.Reserve(ctx, "slot-1", b), nil)
	step(t, "a reservation can be withdrawn", s.Withdraw(ctx, "slot-1", b), nil)
	compare(t, s, "slot-0: -", "slot-1: -")

	step(t, "a node that is gone", s.Reserve(ctx, "slot-1", b), nil)
	step(t, "while it holds a slot", s.Take(ctx, "slot-1", b), nil)
	if err := client.CoreV1().Nodes().Delete(ctx, b.Node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	step(t, "is reaped", s.Reap(ctx, b), nil)
	compare(t, s, "slot-0: -", "slot-1: -")
}

func TestRebuild(t *testing.T) {
	t.Run("fake", func(t *testing.T) { rebuilds(t, fake.NewClientset()) })
	t.Run("real", func(t *testing.T) { rebuilds(t, real(t)) })
}

func rebuilds(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	s := newSlots(client)
	down, other := addNode(t, client, "slot-down"), addNode(t, client, "slot-other")
	deleteAll(t, client)

	step(t, "a deleted Lease comes back", s.Restore(ctx, "slot-0", down, clusterstate.Owner{}), nil)
	compare(t, s, "slot-0: held by slot-down")
	step(t, "twice is once", s.Restore(ctx, "slot-0", down, clusterstate.Owner{}), nil)

	deleteAll(t, client)
	step(t, "one made anew as free", s.Ensure(ctx, 1), nil)
	step(t, "and promised to another node", s.Reserve(ctx, "slot-0", other), nil)
	step(t, "goes to the node that is down", s.Restore(ctx, "slot-0", down, clusterstate.Owner{}), nil)
	compare(t, s, "slot-0: held by slot-down")

	deleteAll(t, client)
	step(t, "one that another node has taken", s.Ensure(ctx, 1), nil)
	step(t, "is reserved", s.Reserve(ctx, "slot-0", other), nil)
	step(t, "is taken", s.Take(ctx, "slot-0", other), nil)
	step(t, "stays its own", s.Restore(ctx, "slot-0", down, clusterstate.Owner{}), ErrTaken)
	step(t, "unless that node has not taken it", s.Restore(ctx, "slot-0", down, other), nil)
	compare(t, s, "slot-0: held by slot-down")
	garble := []byte(`{"spec":{"holderIdentity":"garbled"}}`)
	_, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Patch(ctx, "slot-0", types.MergePatchType, garble, metav1.PatchOptions{})
	step(t, "one that cannot be parsed", err, nil)
	step(t, "is mended", s.Restore(ctx, "slot-0", down, clusterstate.Owner{}), nil)
	compare(t, s, "slot-0: held by slot-down")
}

// A slot may name the node that comes next. Its holder frees it for that node, and each of the two
// can be taken out of it alone.
func TestNextNode(t *testing.T) {
	t.Run("fake", func(t *testing.T) { namesNext(t, fake.NewClientset()) })
	t.Run("real", func(t *testing.T) { namesNext(t, real(t)) })
}

func namesNext(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	s := newSlots(client)
	a, next := addNode(t, client, "slot-now"), addNode(t, client, "slot-next")
	deleteAll(t, client)
	name := func() {
		t.Helper()
		step(t, "a restored slot", s.Restore(ctx, "slot-0", a, clusterstate.Owner{}), nil)
		reserved := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReservedForAnnotation, next)
		_, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Patch(ctx, "slot-0", types.MergePatchType, reserved, metav1.PatchOptions{})
		step(t, "names the next node", err, nil)
	}
	name()
	step(t, "which waits", s.Take(ctx, "slot-0", next), ErrTaken)
	step(t, "until the first frees it", s.Free(ctx, "slot-0", a), nil)
	compare(t, s, "slot-0: for slot-next")
	step(t, "and then takes it", s.Take(ctx, "slot-0", next), nil)
	step(t, "and frees it", s.Free(ctx, "slot-0", next), nil)
	compare(t, s, "slot-0: -")
	name()
	step(t, "the next node may be withdrawn", s.Withdraw(ctx, "slot-0", next), nil)
	compare(t, s, "slot-0: held by slot-now")
	step(t, "which reserves it for its holder again", s.Reserve(ctx, "slot-0", a), nil)
	step(t, "and the holder frees it whole", s.Free(ctx, "slot-0", a), nil)
	compare(t, s, "slot-0: -")
	name()
	step(t, "a node that has not taken it gives it back", s.GiveBack(ctx, "slot-0", a), nil)
	compare(t, s, "slot-0: for slot-next")
	step(t, "and not what it does not hold", s.GiveBack(ctx, "slot-0", a), nil)
	step(t, "the next node may be abandoned", s.Abandon(ctx, next), nil)
	compare(t, s, "slot-0: -")
	step(t, "a Lease that is gone has no owner", s.GiveBack(ctx, "slot-9", a), nil)
	step(t, "nor a reservation", s.Withdraw(ctx, "slot-9", a), nil)
}

// A Lease that has lost its label is the same slot still: it is found by its name,
// keeps its holder, and gets its label back.
func TestLostLabel(t *testing.T) {
	t.Run("fake", func(t *testing.T) { losesLabel(t, fake.NewClientset()) })
	t.Run("real", func(t *testing.T) { losesLabel(t, real(t)) })
}

func losesLabel(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	s := newSlots(client)
	a := addNode(t, client, "slot-unlabelled")
	deleteAll(t, client)
	step(t, "one slot", s.Ensure(ctx, 1), nil)
	step(t, "is reserved", s.Reserve(ctx, "slot-0", a), nil)
	unlabel := []byte(`{"metadata":{"labels":{"kubectl-upgrade.dev/slot":null,"team":"x"}}}`)
	lease, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Patch(ctx, "slot-0", types.MergePatchType, unlabel, metav1.PatchOptions{})
	step(t, "loses its label", err, nil)
	if slot, err := FromLease(lease); err != nil || !slot.Unlabelled {
		t.Errorf("%+v %v", slot, err)
	}
	step(t, "is taken all the same", s.Take(ctx, "slot-0", a), nil)
	compare(t, s, "slot-0: held by slot-unlabelled")
	lease, err = client.CoordinationV1().Leases(v1alpha1.Namespace).Get(ctx, "slot-0", metav1.GetOptions{})
	step(t, "is read", err, nil)
	if _, has := lease.Labels[v1alpha1.SlotLabel]; has {
		t.Error("an agent changed its label, which agents may not do")
	}
	step(t, "and is mended", s.Ensure(ctx, 1), nil)
	lease, err = client.CoordinationV1().Leases(v1alpha1.Namespace).Get(ctx, "slot-0", metav1.GetOptions{})
	step(t, "is read again", err, nil)
	if diff := cmp.Diff(map[string]string{v1alpha1.SlotLabel: "true", "team": "x"}, lease.Labels); diff != "" {
		t.Error(diff)
	}
	compare(t, s, "slot-0: held by slot-unlabelled")
	deleteAll(t, client)
}

// Of twenty calls at the same time, one succeeds.
func TestOneWinner(t *testing.T) {
	client := real(t)
	deleteAll(t, client)
	s := newSlots(client)
	step(t, "one slot", s.Ensure(t.Context(), 1), nil)
	var wait sync.WaitGroup
	won := make(chan clusterstate.Owner, 20)
	for i := range 20 {
		wait.Go(func() {
			me := clusterstate.Owner{Node: fmt.Sprintf("slot-racer-%d", i), UID: "u"}
			if s.Reserve(t.Context(), "slot-0", me) == nil {
				won <- me
			}
		})
	}
	wait.Wait()
	close(won)
	var winners []clusterstate.Owner
	for me := range won {
		winners = append(winners, me)
	}
	if len(winners) != 1 {
		t.Fatalf("%d nodes were promised the only slot: %v", len(winners), winners)
	}
	compare(t, s, "slot-0: for "+winners[0].Node)
}

// After a conflict the change is decided again, from what the other client wrote.
func TestConflictIsDecidedAgain(t *testing.T) {
	a, b := clusterstate.Owner{Node: "a", UID: "1"}, clusterstate.Owner{Node: "b", UID: "2"}
	client := fake.NewClientset()
	s := newSlots(client)
	step(t, "one slot", s.Ensure(t.Context(), 1), nil)
	beaten := false
	client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if beaten {
			return false, nil, nil
		}
		beaten = true
		// Not through the client: it holds its lock while it asks us.
		lease, err := client.Tracker().Get(action.GetResource(), v1alpha1.Namespace, "slot-0")
		if err != nil {
			t.Fatal(err)
		}
		store(clusterstate.Slot{Name: "slot-0", ReservedFor: b}, lease.(*coordinationv1.Lease))
		step(t, "b is faster", client.Tracker().Update(action.GetResource(), lease, v1alpha1.Namespace), nil)
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), "slot-0", errors.New("changed"))
	})
	step(t, "a is told", s.Reserve(t.Context(), "slot-0", a), ErrTaken)
	compare(t, s, "slot-0: for b")
}

// A slot that a node takes while it is abandoned is not freed: it lives, and has begun.
func TestTakenWhileAbandoned(t *testing.T) {
	a := clusterstate.Owner{Node: "a", UID: "1"}
	client := fake.NewClientset()
	s := newSlots(client)
	step(t, "two slots", s.Ensure(t.Context(), 2), nil)
	step(t, "one is reserved", s.Reserve(t.Context(), "slot-0", a), nil)
	step(t, "the other, too", s.Reserve(t.Context(), "slot-1", a), nil)
	step(t, "and taken", s.Take(t.Context(), "slot-1", a), nil)
	took := false
	client.PrependReactor("update", "leases", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if took {
			return false, nil, nil
		}
		took = true
		lease, err := client.Tracker().Get(action.GetResource(), v1alpha1.Namespace, "slot-0")
		if err != nil {
			t.Fatal(err)
		}
		store(clusterstate.Slot{Name: "slot-0", ReservedFor: a, Holder: a}, lease.(*coordinationv1.Lease))
		step(t, "a takes it", client.Tracker().Update(action.GetResource(), lease, v1alpha1.Namespace), nil)
		return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), "slot-0", errors.New("changed"))
	})
	step(t, "a is abandoned", s.Abandon(t.Context(), a), nil)
	compare(t, s, "slot-0: held by a", "slot-1: -")
}

// A Lease that cannot be read keeps no other from being rebuilt, labelled or created.
func TestUnreadableLeaseIsPassedOver(t *testing.T) {
	client := fake.NewClientset()
	s := newSlots(client)
	step(t, "one slot", s.Ensure(t.Context(), 1), nil)
	garbage := []byte(`{"metadata":{"labels":null},"spec":{"holderIdentity":"garbage"}}`)
	_, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Patch(t.Context(), "slot-0", "application/merge-patch+json", garbage, metav1.PatchOptions{})
	step(t, "a program writes garbage", err, nil)
	owner := addNode(t, client, "a")
	step(t, "rebuild", s.Restore(t.Context(), "slot-1", owner, clusterstate.Owner{}), nil)
	step(t, "ensure", s.Ensure(t.Context(), 3), nil)
	if name, err := s.Held(t.Context(), owner); err != nil || name != "slot-1" {
		t.Errorf("a holds %q: %v", name, err)
	}
	leases, err := s.list(t.Context())
	if err != nil || len(leases) != 3 || !labelled(&leases[0]) {
		t.Errorf("%d slots, %v: %v", len(leases), leases[0].Labels, err)
	}
}

// The Leases of others in the namespace are none of ours.
func TestOtherLeases(t *testing.T) {
	client := fake.NewClientset()
	s := newSlots(client)
	leader := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: "coordinator"}}
	leader.Spec.HolderIdentity = ptr.To("host_0123")
	_, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Create(t.Context(), leader, metav1.CreateOptions{})
	step(t, "a leader", err, nil)
	step(t, "no slots", s.Ensure(t.Context(), 0), nil)
	compare(t, s)
	now, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "coordinator", metav1.GetOptions{})
	if err != nil || len(now.Labels) > 0 {
		t.Errorf("%v %v", now, err)
	}
}

func newSlots(client kubernetes.Interface) *Slots {
	return New(client.CoordinationV1().Leases(v1alpha1.Namespace), client.CoreV1().Nodes(), Unwatched)
}

func addNode(t *testing.T, client kubernetes.Interface, name string) clusterstate.Owner {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, isFake := client.(*fake.Clientset); isFake {
		node.UID = types.UID("uid-of-" + name)
	}
	node, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return clusterstate.Owner{Node: node.Name, UID: string(node.UID)}
}

// deleteAll deletes every slot, also those that are held.
func deleteAll(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	leases := client.CoordinationV1().Leases(v1alpha1.Namespace)
	list, err := leases.List(context.Background(), metav1.ListOptions{LabelSelector: LabelSelector})
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range list.Items {
		if err := leases.Delete(context.Background(), lease.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func step(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got %v, want %v", what, err, want)
	}
}

// compare compares all slots with want, one line each.
func compare(t *testing.T, s *Slots, want ...string) {
	t.Helper()
	leases, err := s.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range leases {
		slot, err := FromLease(&leases[i])
		if err != nil {
			t.Fatal(err)
		}
		line := slot.Name + ": -"
		switch {
		case slot.Holder != clusterstate.Owner{}:
			line = slot.Name + ": held by " + slot.Holder.Node
		case slot.ReservedFor != clusterstate.Owner{}:
			line = slot.Name + ": for " + slot.ReservedFor.Node
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}

// TestWatchedLease checks with a real API server that what a watch shows of a Lease saves the first
// read, and that an old one decides nothing.
func TestWatchedLease(t *testing.T) {
	client := real(t)
	deleteAll(t, client)
	a, b := addNode(t, client, "watched-a"), addNode(t, client, "watched-b")
	counted := &countedLeases{Leases: client.CoordinationV1().Leases(v1alpha1.Namespace)}
	var watched *coordinationv1.Lease
	s, ctx := New(counted, client.CoreV1().Nodes(), func(string) *coordinationv1.Lease { return watched }), t.Context()
	look := func() {
		t.Helper()
		lease, err := client.CoordinationV1().Leases(v1alpha1.Namespace).Get(ctx, "slot-0", metav1.GetOptions{})
		step(t, "reading", err, nil)
		lease.ManagedFields, watched, counted.reads = nil, lease, 0 // as an agent's cache has it
	}
	readings := func(want int) {
		t.Helper()
		if counted.reads != want {
			t.Errorf("%d reads, want %d", counted.reads, want)
		}
	}
	step(t, "creating slots", s.Ensure(ctx, 1), nil)
	look()
	step(t, "reserved by what is watched", s.Reserve(ctx, "slot-0", a), nil)
	readings(0)
	step(t, "an old Lease shows it free", s.Reserve(ctx, "slot-0", b), ErrTaken)
	step(t, "an old Lease shows no reservation", s.Take(ctx, "slot-0", a), nil)
	readings(2)
	look()
	step(t, "reserved already, by what is watched", s.Reserve(ctx, "slot-0", a), nil)
	readings(0)
	step(t, "freed by what is watched", s.Free(ctx, "slot-0", a), nil)
	readings(0)
	step(t, "an old Lease shows that it is held", s.Free(ctx, "slot-0", a), nil)
	step(t, "which is free again", s.Reserve(ctx, "slot-0", b), nil)
	compare(t, s, "slot-0: for watched-b")
	deleteAll(t, client)
	step(t, "a Lease that is gone", s.Free(ctx, "slot-0", a), nil)
}

// countedLeases counts reads of one Lease.
type countedLeases struct {
	kube.Leases
	reads int
}

func (c *countedLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.reads++
	return c.Leases.Get(ctx, name, options)
}
