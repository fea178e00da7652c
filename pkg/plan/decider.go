package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// decider is one run of Decide: the snapshot sorted out, and what was decided
// so far.
type decider struct {
	fleet.Snapshot
	now time.Time

	queue      []*v1alpha1.ClusterUpgrade // unfinished; the first is active
	target     *v1alpha1.ClusterUpgrade   // active, or else the one that late nodes follow
	converging bool                       // target is finished already
	to         version.Version
	strategy   v1alpha1.Strategy
	policyHold fleet.Hold // the policy cannot be understood
	wholly     fleet.Hold // nothing of the upgrade can begin
	stalled    bool       // and nothing will until somebody acts

	nodes  []*node
	groups []*group
	total  int  // nodes that count
	saved  bool // there is a snapshot of etcd for target, or none is wanted
	budget int  // how many may be down at once
	view
	checks checks

	gates *gates
	times *durations // nil until somebody asks
	wake  *time.Time // the first instant at which an answer may change by itself

	ended   []v1alpha1.UpgradeRecord      // of the upgrade that ends now
	reached *v1alpha1.UpgradePolicyStatus // what it brought, for late nodes to follow
}

func newDecider(s fleet.Snapshot, now time.Time) *decider {
	d := &decider{Snapshot: s, now: now}
	d.queue = unfinished(s.Upgrades)
	d.readNodes()
	d.takeTurns()
	if len(d.queue) > 0 {
		d.target = d.queue[0]
		d.wholly, d.stalled = d.trigger(d.target)
	} else if followed := followed(s.Policy, s.Upgrades); followed != nil {
		d.target, d.converging = followed, true
	}
	if d.target != nil {
		d.selectFor(d.target)
		if v, err := version.Parse(d.target.Spec.Version); err == nil {
			d.to = v
		}
	}
	d.strategy = d.resolve(d.target)
	d.findSnapshot()
	d.readNeeds()
	d.gates = newGates(d.target, s.Schedules, now)
	d.place()
	// A slot for each node is enough, however many were written down.
	d.budget = min(scaled(d.strategy.MaxUnavailable, d.total), max(1, d.total))
	d.readChecks()
	return d
}

// readNodes joins Nodes, NodeUpgrades, inventories and slots.
func (d *decider) readNodes() {
	words := make(map[string]*v1alpha1.NodeUpgrade, len(d.NodeUpgrades))
	for i := range d.NodeUpgrades {
		words[d.NodeUpgrades[i].Name] = &d.NodeUpgrades[i]
	}
	inventories := make(map[string]*v1alpha1.NodeInventory, len(d.Inventories))
	for i := range d.Inventories {
		inventories[d.Inventories[i].Name] = &d.Inventories[i]
	}
	slots := d.slotsByOwner()
	managed := d.managed()
	silent := &v1alpha1.NodeUpgrade{}
	all := make([]node, len(d.Nodes))
	d.nodes = make([]*node, len(d.Nodes))
	for i, one := range d.Nodes {
		n := &all[i]
		d.nodes[i] = n
		word := words[one.Name]
		if word == nil || !word.OwnedBy(types.UID(one.UID)) {
			word = silent
		}
		n.Node, n.slot = one, slots[one.Owner()]
		n.managed, n.selected = managed.Matches(labels.Set(one.Labels)), true
		n.spec, n.status, n.abandon = &word.Spec, &word.Status, word.Abandoned
		if facts := inventories[one.Name]; facts != nil && facts.OwnedBy(types.UID(one.UID)) {
			n.facts = &facts.NodeFacts
		}
		n.answered = word.Generation > 0 && word.Status.ObservedGeneration == word.Generation
		n.readStatus()
		n.forget()
	}
}

func (d *decider) slotsByOwner() map[fleet.Owner]*fleet.Slot {
	slots := make(map[fleet.Owner]*fleet.Slot, len(d.Slots))
	for i := range d.Slots {
		slot := &d.Slots[i]
		for _, owner := range []fleet.Owner{slot.ReservedFor, slot.Holder} {
			// What a node holds counts before what is merely kept for it.
			if owner != (fleet.Owner{}) && (slots[owner] == nil || slot.Holder == owner) {
				slots[owner] = slot
			}
		}
	}
	return slots
}

// forget takes back what was decided for n.
func (n *node) forget() {
	n.decision, n.hold, n.reserve = "", fleet.Hold{}, ""
	n.release, n.kubeadm = v1alpha1.ReleaseNone, v1alpha1.KubeadmNode
}
