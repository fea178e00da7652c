package plan

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// SlotPlan is what is to be done about the Leases, in this order.
type SlotPlan struct {
	// Rebuild is true when a Node's mark names a slot that it does not hold.
	Rebuild bool
	// Reap are owners whose Node is not there any more, as far as is known.
	Reap []fleet.Owner
	// Abandon are owners that a person gave up.
	Abandon []fleet.Owner
	// Withdraw are owners that a slot is kept for and that may not go now.
	Withdraw []fleet.Owner
	// Count is how many slots there should be, and Ensure whether that differs
	// from what there is.
	Count  int
	Ensure bool
}

func (d *decider) slotPlan() SlotPlan {
	p := SlotPlan{Count: d.budget}
	owners := map[fleet.Owner]*node{}
	for _, n := range d.nodes {
		if n.slot != nil {
			owners[n.Owner()] = n
		}
		held := n.slot != nil && n.slot.Holder == n.Owner() && n.slot.Name == n.Slot
		_, slot := fleet.SlotIndex(n.Slot)
		p.Rebuild = p.Rebuild || slot && !held && !n.abandoned()
	}
	for _, slot := range d.Slots {
		for _, owner := range []fleet.Owner{slot.Holder, slot.ReservedFor} {
			n := owners[owner]
			switch {
			case owner == fleet.Owner{}:
			case n == nil:
				p.Reap = append(p.Reap, owner)
			case n.abandoned():
				p.Abandon = append(p.Abandon, owner)
			case slot.Holder == fleet.Owner{} && !n.failed() && n.reserve != slot.Name && n.release == v1alpha1.ReleaseNone:
				p.Withdraw = append(p.Withdraw, owner)
			}
		}
	}
	p.Ensure = d.slotsDiffer()
	return p
}

// slotsDiffer is whether a slot is missing, or a free one is beyond the budget.
func (d *decider) slotsDiffer() bool {
	there := 0
	for _, slot := range d.Slots {
		i, ok := fleet.SlotIndex(slot.Name)
		if ok && i < d.budget {
			there++
		} else if slot.Free() {
			return true
		}
	}
	return there != d.budget
}
