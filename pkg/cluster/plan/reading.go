package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// reading is the snapshot in the planner's own types, before the active upgrade is
// chosen.
type reading struct {
	snapshot   *clusterstate.Snapshot // the input; never changed
	now        time.Time
	nodes      []*node
	policyHold clusterstate.Hold // set if the policy is missing or invalid, or its mode is Observe
}

// read joins Nodes, NodeUpgrades, inventories and slots.
func read(s *clusterstate.Snapshot, now time.Time) *reading {
	r := &reading{snapshot: s, now: now, nodes: make([]*node, len(s.Nodes))}
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
	n.stored, n.spec, n.status, n.abandoned = u, &u.Spec, &u.Status, u.Abandoned
	n.tookSlot = rules.TookSlot(u, n.SlotAnnotation)
	n.answered = u.Generation > 0 && u.Status.ObservedGeneration == u.Generation
	n.readStatus(versions)
}

// slotsByOwner returns the slots that each owner holds, or that are reserved for it.
func slotsByOwner(list []clusterstate.Slot) map[clusterstate.Owner][]*clusterstate.Slot {
	slots := make(map[clusterstate.Owner][]*clusterstate.Slot, len(list))
	for i := range list {
		for _, owner := range slices.Compact([]clusterstate.Owner{list[i].Holder, list[i].ReservedFor}) {
			if owner != (clusterstate.Owner{}) {
				slots[owner] = append(slots[owner], &list[i])
			}
		}
	}
	return slots
}

// ownLease returns the one of a node's slots that counts: one that it holds prevails over one
// that is only reserved for it, and of these the one that its order names.
func ownLease(slots []*clusterstate.Slot, owner clusterstate.Owner, ordered string) *clusterstate.Slot {
	rank := func(s *clusterstate.Slot) (rank int) {
		if s.Holder == owner {
			rank = 2
		}
		if s.Name == ordered {
			rank++
		}
		return rank
	}
	var own *clusterstate.Slot
	for _, slot := range slots {
		if own == nil || rank(slot) > rank(own) {
			own = slot
		}
	}
	return own
}

// versionReader parses each version once: thousands of nodes run the same few.
type versionReader map[string]*version.Version

// unknown is a version that no agent has reported.
var unknown version.Version

// version parses s; it returns the zero version if s is invalid.
func (r versionReader) version(s string) *version.Version {
	if s == "" {
		return &unknown
	}
	if r[s] == nil {
		v := parsed(s)
		r[s] = &v
	}
	return r[s]
}

// parsed parses s; it returns the zero version if s is invalid.
func parsed(s string) version.Version {
	if s == "" {
		return version.Version{}
	}
	v, err := version.Parse(s)
	if err != nil {
		return version.Version{}
	}
	return v
}

func known(v version.Version) bool { return v != version.Version{} }

// atLeast reports whether got is known, and is v or later.
func atLeast(got, v version.Version) bool { return known(got) && !got.Less(v) }

// policySpec returns the policy's spec; the zero value if there is no policy.
func (r *reading) policySpec() v1alpha1.UpgradePolicySpec {
	if r.snapshot.Policy == nil {
		return v1alpha1.UpgradePolicySpec{}
	}
	return r.snapshot.Policy.Spec
}

// policyVersion returns the version that late nodes are brought to; zero: none.
func (r *reading) policyVersion() version.Version {
	if r.snapshot.Policy == nil {
		return version.Version{}
	}
	return parsed(r.snapshot.Policy.Status.Version)
}

// untouched reports whether the policy allows no change of any node.
func (r *reading) untouched() bool {
	return r.policyHold.Reason == v1alpha1.ReasonObserved || r.policyHold.Reason == v1alpha1.ReasonPolicyMissing
}

// managed returns the policy's nodeSelector. An invalid one matches every node, and
// policyHold keeps all of them from beginning.
func (r *reading) managed() labels.Selector {
	r.policyHold = rules.Policy(r.snapshot.Policy)
	selector, err := readSelector(r.policySpec().NodeSelector)
	if err != nil {
		r.policyHold = clusterstate.Hold{Reason: v1alpha1.ReasonPolicyInvalid, Message: "UpgradePolicy cluster: nodeSelector: " + err.Error()}
		return labels.Everything()
	}
	return selector
}

// followed returns the upgrade to whose version nodes that join late or return are
// brought: the one that set the policy's version. Nil: there is none.
func (r *reading) followed() *v1alpha1.ClusterUpgrade {
	u := rules.FollowedUpgrade(r.snapshot.Policy)
	for i := range r.snapshot.Upgrades {
		if u != nil && r.snapshot.Upgrades[i].UID == u.UID {
			found := r.snapshot.Upgrades[i].DeepCopy()
			found.Spec.Version, found.Status.Images = u.Spec.Version, u.Status.Images
			u = found
		}
	}
	if u != nil && rules.TypeOf(u) == v1alpha1.TypeRollback { // takingBack says when they are
		u.Spec.Type, u.Status.Type = "", v1alpha1.TypePatch
	}
	return u
}

// readSelector returns a selector ready to be matched. Nil matches everything.
func readSelector(s *v1alpha1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return s.AsSelector()
}
