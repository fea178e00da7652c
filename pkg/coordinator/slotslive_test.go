package coordinator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// What a plan says about slots is asked once more, live, before a slot changes hands:
// the plan may have been made of what a watch showed long ago.
func TestSlotsChangeHandsOnlyLive(t *testing.T) {
	c := newWriter(t)
	owner := c.nodeWithSlot(t, "live", "slot-0")
	abandon := plan.SlotPlan{Abandon: []fleet.Owner{owner}}
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
	keep(abandon, "a person has taken the abandonment back", "live")
	say("", `{"abandoned":{"reason":"its disk died"}}`)
	keep(plan.SlotPlan{Abandon: []fleet.Owner{{Node: "live", UID: "another"}}}, "another node of that name was abandoned", "live")
	keep(abandon, "it is abandoned", "")

	say("", `{"abandoned":null}`)
	rebuild := plan.SlotPlan{Rebuild: []fleet.Slot{{Name: "slot-0", ReservedFor: owner, Holder: owner}}}
	say("status", `{"status":{"step":"Unlocking"}}`)
	keep(rebuild, "it is about to free its slot", "")
	say("status", `{"status":{"step":"Kubeadm"}}`)
	say("", `{"spec":{"slot":"slot-1"}}`)
	keep(rebuild, "another slot is its own by now", "")
	say("", `{"spec":{"slot":"slot-0"}}`)
	keep(rebuild, "kubeadm runs", "live")
}

// One slot that cannot be written keeps no other from being freed.
func TestOneBadSlotKeepsNoOtherFromBeingFreed(t *testing.T) {
	c := newWriter(t)
	gone := fleet.Owner{Node: "gone-for-good", UID: "u"}
	if err := c.slots.Restore(t.Context(), "slot-3", gone); err != nil {
		t.Fatal(err)
	}
	bad := fleet.Owner{Node: "not/a/name", UID: "u"}
	p := plan.SlotPlan{Rebuild: []fleet.Slot{{Name: "slot-0", Holder: bad}}, Reap: []fleet.Owner{bad, gone}, Count: 1, Ensure: true}
	if err := c.keepSlots(t.Context(), p); err == nil {
		t.Error("no error about what could not be read")
	}
	_, err := c.kube.CoordinationV1().Leases(v1alpha1.Namespace).Get(t.Context(), "slot-3", metav1.GetOptions{})
	if err == nil {
		// Freed, and deleted as a spare one with the next plan.
		if held, err := c.slots.Held(t.Context(), gone); err != nil || held != "" {
			t.Errorf("gone-for-good still holds %q: %v", held, err)
		}
	} else if !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// nodeWithSlot creates a node that holds the slot.
func (c *Coordinator) nodeWithSlot(t *testing.T, name, slotName string) fleet.Owner {
	t.Helper()
	node, err := c.kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := fleet.Owner{Node: name, UID: string(node.UID)}
	u := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "Node", Name: name, UID: node.UID,
	}}}}
	u.Spec.Slot = slotName
	if _, err := c.ours.NodeUpgrades.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.slots.Restore(t.Context(), slotName, owner); err != nil {
		t.Fatal(err)
	}
	return owner
}
