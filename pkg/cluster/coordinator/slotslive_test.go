package coordinator

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// TestSlotsAreReadLiveBeforeWrite checks that the coordinator reads a slot's node live
// before it frees or restores the slot: the plan may come from an old watch.
func TestSlotsAreReadLiveBeforeWrite(t *testing.T) {
	c := newWriter(t)
	owner := c.nodeWithSlot(t, "live", "slot-0")
	abandon := plan.SlotPlan{Abandon: []clusterstate.Owner{owner}}
	say := func(subresource, text string) {
		t.Helper()
		var subresources []string
		if subresource != "" {
			subresources = append(subresources, subresource)
		}
		if _, err := c.ours.NodeUpgrades.Patch(t.Context(), "live", types.MergePatchType, []byte(text), metav1.PatchOptions{}, subresources...); err != nil {
			t.Fatal(err)
		}
	}
	keep := func(p plan.SlotPlan, what, want string) {
		t.Helper()
		if err := c.keepSlots(t.Context(), p); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		lease, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-0", metav1.GetOptions{})
		got := ""
		if err == nil {
			read, _ := slot.FromLease(lease)
			got = read.Holder.Node
		}
		if got != want {
			t.Errorf("%s: slot-0 is held by %q, want %q", what, got, want)
		}
	}
	keep(abandon, "a person withdrew the abandonment", "live")
	say("", `{"abandoned":{"comment":"its disk died"}}`)
	keep(plan.SlotPlan{Abandon: []clusterstate.Owner{{Node: "live", UID: "another"}}}, "another node of that name was abandoned", "live")
	keep(abandon, "the node is abandoned", "")

	say("", `{"abandoned":null}`)
	restore := plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-0", Owner: owner}}}
	say("status", `{"status":{"step":"Unlocking"}}`)
	keep(restore, "the node is about to free its slot", "")
	say("status", `{"status":{"step":"Kubeadm"}}`)
	say("", `{"spec":{"slot":"slot-1"}}`)
	keep(restore, "the node has another slot", "")
	say("", `{"spec":{"slot":"slot-0"}}`)
	keep(restore, "kubeadm runs", "live")
}

// TestSlotIsGivenBackByLiveSigns checks that a slot is taken only from a node that rests now, and
// mended only for a node that has taken it now, from one that has not.
func TestSlotIsGivenBackByLiveSigns(t *testing.T) {
	c := newWriter(t)
	rests, works := c.nodeWithSlot(t, "rests", "slot-7"), c.nodeWithSlot(t, "works", "slot-8")
	say := func(name, status string) {
		t.Helper()
		if _, err := c.ours.NodeUpgrades.Patch(t.Context(), name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(what, name string, want clusterstate.Owner) {
		t.Helper()
		lease, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if one, err := slot.FromLease(lease); err != nil || one.Holder != want {
			t.Errorf("%s: %s is held by %q (%v), want %q", what, name, one.Holder.Node, err, want.Node)
		}
	}
	plans := plan.SlotPlan{GiveBack: []clusterstate.Slot{{Name: "slot-7", Holder: rests}, {Name: "slot-8", Holder: works}}}
	carry := func(p plan.SlotPlan) {
		t.Helper()
		if err := c.keepSlots(t.Context(), p); err != nil {
			t.Error(err)
		}
	}
	say("rests", `{"status":{"step":"Waiting","observedGeneration":1}}`)
	say("works", `{"status":{"step":"Kubeadm","observedGeneration":1}}`)
	carry(plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-8", Owner: works, Instead: rests}, {Name: "slot-7", Owner: rests, Instead: works}}})
	holds("nothing is lost", "slot-7", rests)
	carry(plans)
	holds("it rests", "slot-7", clusterstate.Owner{})
	holds("it runs kubeadm", "slot-8", works)
	if err := c.slots.GiveBack(t.Context(), "slot-8", works); err != nil {
		t.Fatal(err)
	}
	if err := c.slots.Restore(t.Context(), "slot-8", rests, clusterstate.Owner{}); err != nil {
		t.Fatal(err)
	}
	carry(plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-8", Owner: works, Instead: rests}}})
	holds("another node held it, which rests", "slot-8", works)
	if err := c.slots.GiveBack(t.Context(), "slot-8", works); err != nil {
		t.Fatal(err)
	}
	began := c.nodeWithSlot(t, "began", "slot-8")
	say("began", `{"status":{"step":"Kubeadm","observedGeneration":1}}`)
	carry(plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-8", Owner: works, Instead: began}}})
	holds("another node held it, which has begun", "slot-8", began)
	for _, step := range []v1alpha1.Step{v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepWaiting} {
		say("began", fmt.Sprintf(`{"status":{"step":%q}}`, step))
		if step == v1alpha1.StepWaiting { // it has just taken the slot, and reports that next
			if _, err := c.ours.NodeUpgrades.Patch(t.Context(), "began", types.MergePatchType, []byte(`{"spec":{"release":"Node","type":"Reboot","upgrade":{"name":"u","uid":"u"}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		carry(plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-8", Owner: works, Instead: began}}})
		holds("another node holds it, in step "+string(step), "slot-8", began)
	}
}

// TestBadSlotDoesNotKeepOthersFromBeingFreed checks that a slot which cannot be written
// does not keep another from being freed.
func TestBadSlotDoesNotKeepOthersFromBeingFreed(t *testing.T) {
	c := newWriter(t)
	gone := clusterstate.Owner{Node: "gone-for-good", UID: "u"}
	if err := c.slots.Restore(t.Context(), "slot-3", gone, clusterstate.Owner{}); err != nil {
		t.Fatal(err)
	}
	bad := clusterstate.Owner{Node: "not/a/name", UID: "u"}
	p := plan.SlotPlan{Restore: []plan.LostSlot{{Name: "slot-0", Owner: bad}}, Reap: []clusterstate.Owner{bad, gone}, Count: 1, Ensure: true}
	if err := c.keepSlots(t.Context(), p); err == nil {
		t.Error("keepSlots returned no error about the slot that cannot be written")
	}
	_, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-3", metav1.GetOptions{})
	if err == nil {
		// It was freed; the next plan deletes it, as more slots than needed exist.
		if held, err := c.slots.Held(t.Context(), gone); err != nil || held != "" {
			t.Errorf("gone-for-good still holds %q: %v", held, err)
		}
	} else if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// TestNoReleaseWhileWithdrawnNodeTakesItsSlot checks a plan that withdraws one node and releases
// another, while the first takes its slot: it may be about to be cordoned.
func TestNoReleaseWhileWithdrawnNodeTakesItsSlot(t *testing.T) {
	c := newWriter(t)
	begins, next := c.nodeWithSlot(t, "begins", "slot-0"), c.nodeWithSlot(t, "next", "slot-1")
	if err := c.slots.Free(t.Context(), "slot-1", next); err != nil {
		t.Fatal(err)
	}
	stored, err := c.ours.NodeUpgrades.Get(t.Context(), "next", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := clusterstate.Snapshot{NodeUpgrades: []v1alpha1.NodeUpgrade{*stored}}
	p := plan.Plan{Slots: plan.SlotPlan{Withdraw: []clusterstate.Slot{{Name: "slot-0", ReservedFor: begins}}}}
	p.Nodes = []plan.NodePlan{{Name: "next", Owner: next, Slot: "slot-1", Managed: true, HasAgent: true, Reason: v1alpha1.ReasonReleased, Spec: stored.Spec}}
	if err := c.carryOut(t.Context(), decision{snapshot: s, plan: p}); !errors.Is(err, slot.ErrTaken) || failures(err) != "" {
		t.Errorf("got %v, want %v, as a conflict", err, slot.ErrTaken)
	}
	if err := c.slots.Take(t.Context(), "slot-1", next); !errors.Is(err, slot.ErrNotReserved) {
		t.Errorf("the other node takes its slot: %v, want %v", err, slot.ErrNotReserved)
	}
	if err := c.slots.Free(t.Context(), "slot-0", begins); err != nil {
		t.Fatal(err)
	}
	if err := c.carryOut(t.Context(), decision{snapshot: s, plan: p}); err != nil {
		t.Error(err)
	}
	if err := c.slots.Take(t.Context(), "slot-1", next); err != nil {
		t.Errorf("once the first is back in service: %v", err)
	}
}

// nodeWithSlot creates a node that holds the slot.
func (c *Coordinator) nodeWithSlot(t *testing.T, name, slotName string) clusterstate.Owner {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := clusterstate.Owner{Node: name, UID: string(node.UID)}
	u := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID,
	}}}}
	u.Spec.Slot = slotName
	if _, err := c.ours.NodeUpgrades.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.slots.Restore(t.Context(), slotName, owner, clusterstate.Owner{}); err != nil {
		t.Fatal(err)
	}
	return owner
}

// TestTurnEndsByTheStateThatIs checks that a turn does not end by a NodeUpgrade that has changed since.
func TestTurnEndsByTheStateThatIs(t *testing.T) {
	c := newWriter(t)
	defer c.deleteAll(t)
	n, err := c.ours.NodeUpgrades.Create(t.Context(), &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn := v1alpha1.HookTurn{ID: 1, Node: "w1"}
	policy := &v1alpha1.UpgradePolicy{Status: v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{HookTurns: []v1alpha1.HookTurn{turn}}}}
	turn.Outcome = v1alpha1.TurnAborted
	s := &clusterstate.Snapshot{NodeUpgrades: []v1alpha1.NodeUpgrade{*n}}
	if err := c.checkTurns(t.Context(), s, policy, []v1alpha1.HookTurn{turn}); err != nil {
		t.Errorf("nothing has changed: %v", err)
	}
	s.NodeUpgrades[0].ResourceVersion = "1"
	if err := c.checkTurns(t.Context(), s, policy, []v1alpha1.HookTurn{turn}); !apierrors.IsConflict(err) {
		t.Errorf("it has changed: %v", err)
	}
	policy.Status.HookTurns[0].Outcome = v1alpha1.TurnAborted
	if err := c.checkTurns(t.Context(), s, policy, []v1alpha1.HookTurn{turn}); err != nil {
		t.Errorf("the turn has ended before: %v", err)
	}
}
