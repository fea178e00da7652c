package plan

import (
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
		n.Node, n.lease = one, slots[one.Owner()]
		n.managed = managed.Matches(labels.Set(one.Labels))
		n.join(nodeUpgrades[one.Name], inventories[one.Name], versions)
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
	n.spec, n.status, n.abandoned = &u.Spec, &u.Status, u.Abandoned
	n.tookSlot = TookSlot(u, n.SlotAnnotation)
	n.answered = u.Generation > 0 && u.Status.ObservedGeneration == u.Generation
	n.readStatus(versions)
}

// slotsByOwner returns the slot of each owner. A slot that it holds prevails over one
// that is only reserved for it.
func slotsByOwner(list []fleet.Slot) map[fleet.Owner]*fleet.Slot {
	slots := make(map[fleet.Owner]*fleet.Slot, len(list))
	for i := range list {
		slot := &list[i]
		for _, owner := range []fleet.Owner{slot.ReservedFor, slot.Holder} {
			if owner != (fleet.Owner{}) && (slots[owner] == nil || slot.Holder == owner) {
				slots[owner] = slot
			}
		}
	}
	return slots
}
