package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// reading is the snapshot in the planner's own types, before the active upgrade is
// chosen.
type reading struct {
	*fleet.Snapshot // the input; never changed
	now             time.Time
	nodes           []*node
	automaticHold   fleet.Hold // set if `automatic` asks for patches, and none can be chosen
	policyHold      fleet.Hold // set if the policy is missing or invalid, or its mode is Observe
}

// read joins Nodes, NodeUpgrades, inventories and slots.
func read(s *fleet.Snapshot, now time.Time) *reading {
	r := &reading{Snapshot: s, now: now, nodes: make([]*node, len(s.Nodes))}
	nodeUpgrades := make(map[string]*v1alpha1.NodeUpgrade, len(s.NodeUpgrades))
	for i := range s.NodeUpgrades {
		nodeUpgrades[s.NodeUpgrades[i].Name] = &s.NodeUpgrades[i]
	}
	inventories := make(map[string]*v1alpha1.NodeInventory, len(s.Inventories))
	for i := range s.Inventories {
		inventories[s.Inventories[i].Name] = &s.Inventories[i]
	}
	slots := slotsByOwner(s.Slots)
	managed, versions := r.managed(), versionReader{}
	all := make([]node, len(s.Nodes))
	for i, one := range s.Nodes {
		n := &all[i]
		r.nodes[i] = n
		n.Node = one
		n.labelled = one.ControlPlane
		n.managed = managed.Matches(labels.Set(one.Labels))
		n.join(nodeUpgrades[one.Name], inventories[one.Name], versions)
		n.lease = ownLease(slots[one.Owner()], one.Owner(), n.spec.Slot)
	}
	return r
}

// unreported stands for the NodeUpgrade of a node whose agent has not reported.
var unreported v1alpha1.NodeUpgrade

// join adds what the node's agent reports. Objects of an earlier node with the same
// name are ignored.
func (n *node) join(u *v1alpha1.NodeUpgrade, inventory *v1alpha1.NodeInventory, versions versionReader) {
	if u == nil || !u.OwnedBy(types.UID(n.UID)) {
		u = &unreported
	}
	if inventory != nil && inventory.OwnedBy(types.UID(n.UID)) {
		n.facts = &inventory.NodeFacts
	}
	n.ControlPlane = n.facts.OnControlPlane(n.ControlPlane)
	n.spec, n.status, n.abandoned = &u.Spec, &u.Status, u.Abandoned
	n.tookSlot = TookSlot(u, n.SlotAnnotation)
	n.mayKeep = func(slot string) bool { return MayKeepSlot(u, n.facts != nil, n.SlotAnnotation, slot) }
	n.answered = u.Generation > 0 && u.Status.ObservedGeneration == u.Generation
	n.readStatus(versions)
}

// slotsByOwner returns the slots that each owner holds, or that are reserved for it.
func slotsByOwner(list []fleet.Slot) map[fleet.Owner][]*fleet.Slot {
	slots := make(map[fleet.Owner][]*fleet.Slot, len(list))
	for i := range list {
		for _, owner := range slices.Compact([]fleet.Owner{list[i].Holder, list[i].ReservedFor}) {
			if owner != (fleet.Owner{}) {
				slots[owner] = append(slots[owner], &list[i])
			}
		}
	}
	return slots
}

// ownLease returns the one of a node's slots that counts: one that it holds prevails over one
// that is only reserved for it, and of these the one that its order names.
func ownLease(slots []*fleet.Slot, owner fleet.Owner, ordered string) *fleet.Slot {
	rank := func(s *fleet.Slot) (rank int) {
		if s.Holder == owner {
			rank = 2
		}
		if s.Name == ordered {
			rank++
		}
		return rank
	}
	var own *fleet.Slot
	for _, slot := range slots {
		if own == nil || rank(slot) > rank(own) {
			own = slot
		}
	}
	return own
}
