package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// SlotPlan is what to do with the Leases, in this order. Which node is out of service is said by
// the marks and steps of nodes; a Lease that disagrees is mended.
//
//	by its marks and steps       the Lease says                      the Lease is to say
//	one node has taken it        held by that node                   the same
//	                             anything else, or there is none     held by that node
//	several have taken it        held by one of them                 the same
//	                             anything else, or there is none     held by the first of them, or the first
//	                                                                 that is released, if one is
//	no node has taken it         held by a node that may have        the same
//	                             held by a node that has not         its holder gives it back
//	                             held by a Node that is gone         free, once its machine is back or is given up
//	                             unreadable                          the same: a person deletes it
//
// A reservation stays if the node's order names that slot, or is about to: so a held slot may name
// the node that comes next. Any other one is withdrawn.
type SlotPlan struct {
	// Restore are the slots whose Leases do not name the nodes that have taken them.
	Restore []LostSlot
	// Reap are the owners whose Nodes are gone, as far as is known. Their slots are freed. NotBack are those of them
	// whose machines were out of service, and did not come back in time.
	Reap, NotBack []clusterstate.Owner
	// Abandon are the owners that a person has abandoned and that hold slots, which are freed.
	Abandon []clusterstate.Owner
	// GiveBack are the slots whose holders have not taken them.
	GiveBack []clusterstate.Slot
	// Withdraw are the slots that are reserved for nodes which may not begin with them now.
	Withdraw []clusterstate.Slot
	// Count is how many slots there should be, and Ensure whether the Leases differ
	// from that.
	Count  int
	Ensure bool
}

// LostSlot is a slot whose Lease does not name the node that has taken it.
type LostSlot struct {
	Name  string
	Owner clusterstate.Owner
	// Instead is the node that the Lease names; zero: none.
	Instead clusterstate.Owner
}

// slotPlan returns what the verdicts require of the Leases.
func (c *cluster) slotPlan(verdicts []verdict) SlotPlan {
	p := SlotPlan{Count: c.budget, Ensure: c.slotsDiffer(), Restore: c.lostSlots()}
	owners := map[clusterstate.Owner]int{}
	for i, n := range c.nodes {
		if n.lease != nil {
			owners[n.Owner()] = i
		}
	}
	for _, slot := range c.slots {
		lost := slices.ContainsFunc(p.Restore, func(l LostSlot) bool { return l.Name == slot.Name })
		owned := []clusterstate.Owner{slot.Holder, slot.ReservedFor}
		for _, owner := range slices.Compact(owned) {
			i, known := owners[owner]
			switch {
			case owner == clusterstate.Owner{}:
			case !known:
				c.reap(&p, owner)
			case c.nodes[i].abandoned != nil && owner == slot.Holder:
				p.Abandon = append(p.Abandon, owner)
			case c.nodes[i].abandoned != nil:
				p.Withdraw = append(p.Withdraw, slot) // unless it is about to take it
			case lost:
			case owner == slot.Holder:
				if !c.nodes[i].mayKeep(slot.Name) {
					p.GiveBack = append(p.GiveBack, slot)
				}
			case !c.nodes[i].wants(slot.Name, verdicts[i]):
				p.Withdraw = append(p.Withdraw, slot)
			}
		}
	}
	return p
}

// wants reports whether a slot stays reserved for the node: it begins with that slot now, or has
// been released with it.
func (n *node) wants(slot string, v verdict) bool {
	ordered := n.spec.Slot == slot || n.spec.Slot == ""
	return v.slot == slot || v.slot == "" && ordered && (v.release.Granted() || n.failed())
}

// Apply returns the slots as they are once the plan is carried out, but for those that it
// creates and deletes.
func (p SlotPlan) Apply(slots []clusterstate.Slot) []clusterstate.Slot {
	slots = slices.Clone(slots)
	named := func(list []clusterstate.Slot, name string) bool {
		return slices.ContainsFunc(list, func(s clusterstate.Slot) bool { return s.Name == name })
	}
	for i := range slots {
		slot := &slots[i]
		freed := func(owner clusterstate.Owner) bool {
			return slices.Contains(p.Reap, owner) || slices.Contains(p.Abandon, owner)
		}
		holder := slot.Holder
		if freed(holder) || named(p.GiveBack, slot.Name) {
			slot.Holder = clusterstate.Owner{}
		}
		if slot.ReservedFor == holder && slot.Holder != holder || freed(slot.ReservedFor) || named(p.Withdraw, slot.Name) {
			slot.ReservedFor = slot.Holder
		}
	}
	for _, lost := range p.Restore {
		slot := clusterstate.Slot{Name: lost.Name, ReservedFor: lost.Owner, Holder: lost.Owner}
		if i := slices.IndexFunc(slots, func(s clusterstate.Slot) bool { return s.Name == lost.Name }); i >= 0 {
			slots[i] = slot
		} else {
			slots = append(slots, slot)
		}
	}
	return slots
}

// lostSlots returns the slots to restore, each with the node that took it. One that is held by
// another node which has taken it too is left to that node. That is so also if that node's order names
// no slot: its NodeUpgrade was deleted meanwhile and only its Node says so, or it aborts an attempt of
// an earlier upgrade. Of several, the one that is released goes on: the others were abandoned, and do not
// begin to reboot without the slot.
func (c *cluster) lostSlots() []LostSlot {
	leases, took := c.slotsByName(), map[clusterstate.Owner]string{}
	for _, n := range c.nodes {
		if n.tookSlot {
			took[n.Owner()] = n.spec.Slot
		} else if atWork := n.silent() && n.marked() || n.endsFormerAttempt(); atWork && n.holdsLease() {
			took[n.Owner()] = n.lease.Name
		}
	}
	var lost []LostSlot
	restored := map[string]bool{}
	released, others := []*node{}, []*node{}
	for _, n := range c.nodes {
		if n.released() {
			released = append(released, n)
		} else {
			others = append(others, n)
		}
	}
	for _, n := range append(released, others...) {
		name := n.spec.Slot
		lease, there := leases[name]
		if !n.tookSlot || restored[name] || there && !lease.Unreadable && took[lease.Holder] == name {
			continue
		}
		lost = append(lost, LostSlot{Name: name, Owner: n.Owner(), Instead: lease.Holder})
		restored[name] = true
	}
	return lost
}

// slotTrouble returns a note on what is wrong with the slot of a busy node.
func (c *cluster) slotTrouble(n *node) string {
	for _, lease := range c.slots {
		switch {
		case n.tookSlot && lease.Name == n.spec.Slot && !lease.Unreadable && lease.Holder != (clusterstate.Owner{}) && lease.Holder != n.Owner():
			return fmt.Sprintf("; it has lost %s, which node %s holds now", lease.Name, lease.Holder.Node)
		case lease.Holder == n.Owner() && n.silent():
			return fmt.Sprintf("; the Lease %s/%s says that it holds that slot, and its agent has not reported whether it does; if none runs there: `kubectl upgrade abandon %s`",
				v1alpha1.Namespace, lease.Name, n.Name)
		}
	}
	return ""
}

// unreadable returns what to do about a Lease whose owner cannot be parsed.
func unreadable(slot clusterstate.Slot) string {
	return fmt.Sprintf("the holder or the reservation of Lease %s/%s cannot be read; delete the Lease, and it is created again", v1alpha1.Namespace, slot.Name)
}

func (c *cluster) slotsByName() map[string]clusterstate.Slot {
	byName := make(map[string]clusterstate.Slot, len(c.slots))
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
		i, ok := clusterstate.SlotIndex(slot.Name)
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
