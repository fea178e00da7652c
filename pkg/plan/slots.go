package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// SlotPlan is what is to be done about the Leases, in this order.
type SlotPlan struct {
	// Rebuild is true when a Node's mark names a slot that it does not hold.
	Rebuild bool
	// Reap are owners whose Node is not there any more, as far as is known.
	Reap []fleet.Owner
	// Abandon are owners that a person has abandoned.
	Abandon []fleet.Owner
	// Withdraw are owners that a slot is kept for and that may not go now.
	Withdraw []fleet.Owner
	// Count is how many slots there should be, and Ensure whether that differs
	// from what there is.
	Count  int
	Ensure bool
}

// slotPlan returns what follows from the verdicts for the Leases.
func (c *cluster) slotPlan(verdicts []verdict) SlotPlan {
	p := SlotPlan{Count: c.budget, Ensure: c.slotsDiffer()}
	owners := map[fleet.Owner]int{}
	for i, n := range c.nodes {
		if n.slot != nil {
			owners[n.Owner()] = i
		}
		held := n.holdsSlot() && n.slot.Name == n.Slot
		if n.Slot != "" && !held && n.abandoned == nil {
			_, slot := fleet.SlotIndex(n.Slot)
			p.Rebuild = p.Rebuild || slot
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
			case slot.Holder == fleet.Owner{} && !c.nodes[i].failed() && verdicts[i].slot != slot.Name && !verdicts[i].release.Lets():
				p.Withdraw = append(p.Withdraw, owner)
			}
		}
	}
	return p
}

// slotsDiffer reports whether a slot is missing, or a free one is beyond the budget.
func (c *cluster) slotsDiffer() bool {
	there := 0
	for _, slot := range c.slots {
		i, ok := fleet.SlotIndex(slot.Name)
		if ok && i < c.budget {
			there++
		} else if slot.Free() {
			return true
		}
	}
	return there != c.budget
}
