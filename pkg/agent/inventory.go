package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// inventoryPause is how long a write may take to come back through the watch, and
// how soon one that failed is tried again.
const inventoryPause = 10 * time.Second

// inventoryView is what this agent has written.
type inventoryView struct {
	told *v1alpha1.NodeFacts // nil: nothing yet
	at   time.Time           // of the last write, or attempt
}

// tellInventory writes the node's NodeInventory where something in it changed. No
// step of an upgrade waits for it.
func (a *Agent) tellInventory(ctx context.Context, o machine.Observation) {
	node := a.node()
	if node == nil || a.seen.facts == nil || a.seen.facts.ControlPlane && a.etcd.at.IsZero() {
		return // preflight would take what has not been asked yet for a problem
	}
	told := a.toldInventory(node, o.Now)
	found := a.nodeFacts(told)
	if told != nil && !worthTelling(*told, found) {
		return
	}
	if a.inventory.told == nil && o.Now.Sub(a.inventory.at) < inventoryPause {
		return
	}
	a.inventory = inventoryView{at: o.Now}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	out := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, NodeFacts: found}
	out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	if _, err := a.Upgrades.NodeInventories.Apply(ctx, out, fieldManager, ""); err != nil {
		a.Log.WarnContext(ctx, "writing the NodeInventory", "node", a.Node, "error", err, "again", inventoryPause)
		return
	}
	a.inventory.told = &found
}

// toldInventory returns what the node's NodeInventory says: what this agent wrote
// last, and before that what the watch shows. Nil: there is none, or a person has
// deleted it.
func (a *Agent) toldInventory(node *corev1.Node, now time.Time) *v1alpha1.NodeFacts {
	there := one[*v1alpha1.NodeInventory](a.inventories)
	switch {
	case a.inventory.told != nil && (there != nil || now.Sub(a.inventory.at) < inventoryPause):
		return a.inventory.told
	case there != nil && there.OwnedBy(node.UID):
		return &there.NodeFacts
	}
	return nil
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
