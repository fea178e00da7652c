package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// SlotPlan is what to do with the Leases, in this order.
type SlotPlan struct {
	// Restore are the slots whose Leases are gone or have lost their holders, although
	// nodes have taken them. The others are owners whose slots to free with that
	// function of package slot.
	Restore []fleet.Slot
	// Reap are the owners whose Nodes are gone, as far as is known.
	Reap []fleet.Owner
	// Abandon are the owners that a person has abandoned.
	Abandon []fleet.Owner
	// Withdraw are the owners that have a slot reserved and may not begin now.
	Withdraw []fleet.Owner
	// Count is how many slots there should be, and Ensure whether the Leases differ
	// from that.
	Count  int
	Ensure bool
}

// slotPlan returns what the verdicts require of the Leases.
func (c *cluster) slotPlan(verdicts []verdict) SlotPlan {
	p := SlotPlan{Count: c.budget, Ensure: c.slotsDiffer(), Restore: c.lostSlots()}
	owners := map[fleet.Owner]int{}
	for i, n := range c.nodes {
		if n.lease != nil {
			owners[n.Owner()] = i
		}
	}
	for _, slot := range c.slots {
		for _, owner := range []fleet.Owner{slot.Holder, slot.ReservedFor} {
			i, known := owners[owner]
			switch {
			case owner == fleet.Owner{}:
			case !known:
				p.Reap = append(p.Reap, owner)
			case c.nodes[i].abandoned != nil:
				p.Abandon = append(p.Abandon, owner)
			case slot.Holder == fleet.Owner{} && !c.nodes[i].failed() && verdicts[i].slot != slot.Name && !verdicts[i].release.Granted():
				p.Withdraw = append(p.Withdraw, owner)
			}
		}
	}
	return p
}

// TookSlot reports whether the node with that NodeUpgrade, and that slot annotation on
// its Node, has taken the slot reserved for it and has not freed it. If the Lease
// disagrees, another client deleted or changed it.
//
// Annotation and status count only for the slot in the NodeUpgrade's spec, because a node
// may write both itself. Before the cordon, and for a restart without one, there is no
// annotation.
func TookSlot(u *v1alpha1.NodeUpgrade, slotAnnotation string) bool {
	if _, slot := fleet.SlotIndex(u.Spec.Slot); !slot || u.Abandoned != nil {
		return false
	}
	if !freedSlot(u.Status.Steps) {
		switch u.Status.Step {
		case v1alpha1.StepSnapshotting, v1alpha1.StepKubeadm, v1alpha1.StepChecking,
			v1alpha1.StepActivating, v1alpha1.StepRestarting, v1alpha1.StepRebooting, v1alpha1.StepVerifying, v1alpha1.StepSettling,
			v1alpha1.StepFailed, v1alpha1.StepRolledBack:
			return true
		}
	}
	return slotAnnotation == u.Spec.Slot
}

// freedSlot reports whether a node has freed its slot since it took one. Later it may enter a
// step without a slot, for an annotation that another client put on its Node.
func freedSlot(steps []v1alpha1.StepTime) bool {
	for i, step := range slices.Backward(steps) {
		switch step.Step {
		case v1alpha1.StepLocking:
			return false
		case v1alpha1.StepUnlocking:
			return step.EndTime != nil
		case v1alpha1.StepAborting: // it may also end as Failed, with the slot
			return i+1 < len(steps) && steps[i+1].Step == v1alpha1.StepWaiting
		}
	}
	return false
}

// lostSlots returns the slots to restore, each with the node that took it. One that
// another node holds meanwhile is left to that node.
func (c *cluster) lostSlots() []fleet.Slot {
	leases := c.slotsByName()
	var lost []fleet.Slot
	for _, n := range c.nodes {
		if !n.tookSlot {
			continue
		}
		lease, there := leases[n.spec.Slot]
		if !there || !lease.Unreadable && lease.Holder == (fleet.Owner{}) {
			lost = append(lost, fleet.Slot{Name: n.spec.Slot, ReservedFor: n.Owner(), Holder: n.Owner()})
		}
	}
	return lost
}

// slotTrouble returns a note on why the slot of a busy node cannot be restored.
func (c *cluster) slotTrouble(n *node) string {
	if !n.tookSlot {
		return ""
	}
	for _, lease := range c.slots {
		switch {
		case lease.Name != n.spec.Slot || lease.Holder == n.Owner():
		case lease.Unreadable:
			return "; " + unreadable(lease)
		case lease.Holder != fleet.Owner{}:
			return fmt.Sprintf("; it has lost %s, which node %s holds now", lease.Name, lease.Holder.Node)
		}
	}
	return ""
}

// unreadable returns what to do about a Lease whose owner cannot be parsed.
func unreadable(slot fleet.Slot) string {
	return fmt.Sprintf("the holder or the reservation of Lease %s/%s cannot be read; delete the Lease, and it is created again", v1alpha1.Namespace, slot.Name)
}

func (c *cluster) slotsByName() map[string]fleet.Slot {
	byName := make(map[string]fleet.Slot, len(c.slots))
	for _, slot := range c.slots {
		byName[slot.Name] = slot
	}
	return byName
}

// slotsDiffer reports whether a slot is missing, has lost its label, or is free and
// beyond the budget.
func (c *cluster) slotsDiffer() bool {
	there := 0
	for _, slot := range c.slots {
		i, ok := fleet.SlotIndex(slot.Name)
		if ok && i < c.budget {
			there++
		} else if slot.Free() {
			return true
		}
		if slot.Unlabelled {
			return true
		}
	}
	return there != c.budget
}
