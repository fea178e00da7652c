package agent

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// inventoryEvery is the pause between two writes: what was written is on its way
// through the watch meanwhile, and what failed is tried again.
const inventoryEvery = 10 * time.Second

// tellInventory writes the node's NodeInventory where something in it changed. No
// step of an upgrade waits for it.
func (a *Agent) tellInventory(ctx context.Context, o machine.Observation) {
	node := a.node()
	if node == nil || a.seen.facts == nil || o.Now.Sub(a.inventoryAt) < inventoryEvery {
		return
	}
	var told *v1alpha1.NodeFacts
	if there := one[*v1alpha1.NodeInventory](a.inventories); there != nil && there.OwnedBy(node.UID) {
		told = &there.NodeFacts
	}
	found := a.nodeFacts(told)
	if told != nil && !worthTelling(*told, found) {
		return
	}
	a.inventoryAt = o.Now
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	out := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, NodeFacts: found}
	out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	if _, err := a.Upgrades.NodeInventories.Apply(ctx, out, fieldManager, ""); err != nil {
		a.Log.WarnContext(ctx, "writing the NodeInventory", "node", a.Node, "error", err, "again", inventoryEvery)
	}
}

// nodeFacts returns what the host's files, update_engine and etcd told last. What
// etcd said stands until this agent has asked it.
func (a *Agent) nodeFacts(told *v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	facts := *a.seen.facts.Node.DeepCopy()
	facts.Installed = a.seen.facts.Installed
	if a.engine.problem != "" {
		facts.Problems = append(facts.Problems, a.engine.problem)
	}
	facts.Etcd = a.etcd.facts
	if a.etcd.at.IsZero() && told != nil {
		facts.Etcd = told.Etcd
	}
	return facts
}
