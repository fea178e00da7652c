package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// A Node object may be deleted while its machine is out of service: by a cloud's controller, because the machine
// is down, or by a person. The machine may still boot, register a Node of the same name, and go down once more, by
// its guard. So its slot stays taken until a Node of that name is back in service, or there was time enough for
// that. The NodeUpgrade, which says what the machine does, goes with its Node: it is noted before.

// backWithin is how long a reboot before the guard's limit, and its way back after it, may take together.
const backWithin = 10 * time.Minute

// Holder is what was seen last of a node that holds a slot, or for which one is reserved, which it may take at any time.
type Holder struct {
	inService bool          // or could still abort, without a reboot
	guard     time.Duration // how long its guard watches at most; zero: that is not known
	goneAt    time.Time     // when its Node was first seen to be gone; zero: it is there
}

// Holders are these nodes, and those that were and still are there.
type Holders map[clusterstate.Owner]Holder

// Note returns what is known of the holders now, and adds to the snapshot until when the slots of those are kept whose
// Nodes are gone. A coordinator that has just started knows nothing of them, and waits as long as for the longest
// guard.
func (before Holders) Note(s *clusterstate.Snapshot, now time.Time) Holders {
	there, upgrades := map[clusterstate.Owner]bool{}, map[string]*v1alpha1.NodeUpgrade{}
	for i := range s.Nodes {
		there[s.Nodes[i].Owner()] = true
	}
	for i := range s.NodeUpgrades {
		upgrades[s.NodeUpgrades[i].Name] = &s.NodeUpgrades[i]
	}
	after := Holders{}
	note := func(owner clusterstate.Owner) {
		if owner != (clusterstate.Owner{}) {
			after[owner] = before[owner].seen(owner, upgrades[owner.Node], there[owner], now)
		}
	}
	for owner := range before {
		if there[owner] { // its Lease may have been deleted, and is made again
			note(owner)
		}
	}
	s.KeptUntil = map[clusterstate.Owner]time.Time{}
	for _, slot := range s.Slots {
		note(slot.Holder)
		note(slot.ReservedFor)
		if h := after[slot.Holder]; !h.goneAt.IsZero() && !h.inService {
			s.KeptUntil[slot.Holder] = h.goneAt.Add(cmp.Or(h.guard, v1alpha1.MaxGuardSeconds*time.Second) + backWithin)
		}
	}
	return after
}

// seen returns what is known of the holder now. u is the NodeUpgrade of its name, or nil.
func (h Holder) seen(owner clusterstate.Owner, u *v1alpha1.NodeUpgrade, there bool, now time.Time) Holder {
	if u != nil && u.OwnedBy(types.UID(owner.UID)) {
		phase := u.Status.Step.Info().Phase
		h.inService = u.Status.Step != "" && (phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseInService)
		h.guard = max(h.guard, clusterstate.Seconds(u.Spec.GuardSeconds))
	}
	switch {
	case there:
		h.goneAt = time.Time{}
	case h.goneAt.IsZero():
		h.goneAt = now
	}
	return h
}

// reap adds an owner whose Node is gone to those whose slots are freed, unless its slot is kept.
func (c *cluster) reap(p *SlotPlan, owner clusterstate.Owner) {
	until, kept := c.reading.snapshot.KeptUntil[owner]
	back := c.isBack(owner)
	if kept && !back && c.now.Before(until) {
		return
	}
	p.Reap = append(p.Reap, owner)
	if kept && !back {
		p.NotBack = append(p.NotBack, owner)
	}
}

// isBack reports whether the machine of a Node that is gone is back in service under a Node of the same name.
func (c *cluster) isBack(gone clusterstate.Owner) bool {
	return slices.ContainsFunc(c.nodes, func(n *node) bool {
		return n.Name == gone.Node && n.UID != gone.UID && n.Ready && !n.silent() && !n.busy()
	})
}

// goneHolder returns what is waited for if a Node that is gone holds the slot; empty: none does.
func (c *cluster) goneHolder(slot clusterstate.Slot) string {
	gone := slot.Holder
	if gone == (clusterstate.Owner{}) || slices.ContainsFunc(c.nodes, func(n *node) bool { return n.Owner() == gone }) {
		return ""
	}
	text := fmt.Sprintf("the Node %s, which holds %s, was deleted while its machine was out of service; the slot is freed when a Node of that name is back in service",
		gone.Node, slot.Name)
	if until, kept := c.reading.snapshot.KeptUntil[gone]; kept {
		text += ", at the latest at " + clusterstate.FormatTime(until)
	}
	return text
}
