package agent

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// inventoryPause is how long a write may take to come back through the watch, and
// how soon one that failed is tried again.
const inventoryPause = 10 * time.Second

// inventoryView is the last NodeInventory that this agent wrote.
type inventoryView struct {
	written *v1alpha1.NodeFacts // nil: nothing yet
	at      time.Time           // of the last write, or attempt
}

// writeInventory writes the node's NodeInventory if its facts changed. No step of an upgrade
// waits for it.
func (a *Agent) writeInventory(ctx context.Context, o machine.Observation) {
	node := a.node()
	if node == nil || a.seen.facts == nil || a.seen.facts.ControlPlane && a.etcd.at.IsZero() {
		return // without etcd's answer preflight would report a problem
	}
	written := a.writtenInventory(node, o.Now)
	found := a.nodeFacts(written)
	if written != nil && !factsChanged(*written, found) {
		a.ready()
		return
	}
	if a.inventory.written == nil && o.Now.Sub(a.inventory.at) < inventoryPause {
		return
	}
	a.inventory = inventoryView{at: o.Now}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, NodeFacts: found}
	out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	_, err := a.Upgrades.NodeInventories.Apply(ctx, out, fieldManager, "")
	a.noteRefused("NodeInventory", err)
	if err != nil {
		a.Log.WarnContext(ctx, "writing the NodeInventory", "node", a.Node, "error", err, "retryAfter", inventoryPause)
		return
	}
	a.inventory.written = &found
	a.ready()
}

// writtenInventory returns the facts in the node's NodeInventory: those that this agent
// wrote last, or those that the watch shows. It returns nil if there are none.
func (a *Agent) writtenInventory(node *corev1.Node, now time.Time) *v1alpha1.NodeFacts {
	there := one[*v1alpha1.NodeInventory](a.inventories)
	switch {
	case a.inventory.written != nil && (there != nil || now.Sub(a.inventory.at) < inventoryPause):
		return a.inventory.written
	case there != nil && there.OwnedBy(node.UID):
		return &there.NodeFacts
	}
	return nil
}

// nodeFacts returns the last facts of the host's files, update_engine and etcd. Etcd's are
// kept from the last agent until this one has read them.
func (a *Agent) nodeFacts(written *v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	facts := *a.seen.facts.Node.DeepCopy()
	facts.Installed = a.seen.facts.Installed
	facts.ClockAheadSeconds = int32(a.clockAhead().Round(10 * time.Second).Seconds())
	if a.seen.facts.ControlPlane {
		facts.StaticPods = append(facts.StaticPods, "kube-apiserver")
	}
	if a.seen.facts.EtcdMember {
		facts.StaticPods = append(facts.StaticPods, "etcd")
	}
	if a.engine.problem != "" {
		facts.Problems = append(facts.Problems, a.engine.problem)
	}
	facts.Etcd = a.etcd.facts
	if a.etcd.at.IsZero() && written != nil {
		facts.Etcd = written.Etcd
	}
	return facts
}

// factsChanged reports whether facts changed. Sizes must change by a tenth or more, as
// thousands of agents write them.
func factsChanged(written, found v1alpha1.NodeFacts) bool {
	return !equality.Semantic.DeepEqual(withoutSizes(written), withoutSizes(found)) ||
		freeSpaceChanged(written.Disks, found.Disks) || changedByTenth(databaseBytes(&written), databaseBytes(&found))
}

// withoutSizes returns f without times and sizes, which always change.
func withoutSizes(f v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	f.GatheredTime = metav1.Time{}
	f.Disks = slices.Clone(f.Disks)
	for i := range f.Disks {
		f.Disks[i].FreeBytes = 0
	}
	if f.Etcd != nil {
		f.Etcd = f.Etcd.DeepCopy()
		f.Etcd.DatabaseBytes = 0
	}
	return f
}

// freeSpaceChanged reports whether the free space of the same disks changed.
func freeSpaceChanged(before, after []v1alpha1.DiskFacts) bool {
	for i := range before {
		if changedByTenth(before[i].FreeBytes, after[i].FreeBytes) {
			return true
		}
	}
	return false
}

func databaseBytes(f *v1alpha1.NodeFacts) int64 {
	if f.Etcd == nil {
		return 0
	}
	return f.Etcd.DatabaseBytes
}

// changedByTenth reports whether a size is a tenth more or less than it was: every
// program that writes a log changes it by a little.
func changedByTenth(before, after int64) bool {
	change := after - before
	return max(change, -change) > max(before, after)/10
}
