package agent

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
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
func (p *reportSense) writeInventory(ctx context.Context, r *round) {
	node := r.node
	if node == nil || p.host.seen.facts == nil {
		return
	}
	if p.host.seen.facts.ControlPlane && p.etcd.at.IsZero() { // preflight would report a problem
		if p.etcd.isPaused() { // perhaps for as long as a drain takes, and a rollout of agents waits for this one
			p.factsReported(r)
		}
		return
	}
	written := p.writtenInventory(node, r.Now)
	found := p.nodeFacts(written)
	if written != nil && !factsChanged(*written, found) {
		p.factsReported(r)
		return
	}
	if p.inventory.written == nil && r.Now.Sub(p.inventory.at) < inventoryPause {
		return
	}
	p.inventory = inventoryView{at: r.Now}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: p.Node}, NodeFacts: found}
	out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	_, err := applyDeclared(ctx, p, p.Upgrades.NodeInventories, out, "", &p.inventoryLacks, func(*v1alpha1.NodeInventory) bool { return false })
	p.noteRefused(node, "NodeInventory", err)
	if err != nil {
		p.Log.WarnContext(ctx, "writing the NodeInventory", "node", p.Node, "error", err, "retryAfter", inventoryPause)
		return
	}
	p.inventory.written = &found
	p.factsReported(r)
}

// factsReported makes the agent ready, if its status was written, too. Without a NodeUpgrade there is none to write.
func (p *reportSense) factsReported(r *round) {
	if p.accepted || r.order == nil {
		p.ready()
	}
}

// writtenInventory returns the facts in the node's NodeInventory: those that this agent
// wrote last, or those that the watch shows. It returns nil if there are none.
func (p *reportSense) writtenInventory(node *corev1.Node, now time.Time) *v1alpha1.NodeFacts {
	there := one[*v1alpha1.NodeInventory](p.inventories)
	switch {
	case p.inventory.written != nil && (there != nil || now.Sub(p.inventory.at) < inventoryPause):
		return p.inventory.written
	case there != nil && there.OwnedBy(node.UID):
		return &there.NodeFacts
	}
	return nil
}

// nodeFacts returns the last facts of the host's files, update_engine and etcd. Etcd's are
// kept from the last agent until this one has read them.
func (p *reportSense) nodeFacts(written *v1alpha1.NodeFacts) v1alpha1.NodeFacts {
	facts := p.host.seen.facts.Node
	facts.Installed = p.host.seen.facts.Installed
	facts.ClockAheadSeconds = int32(p.clockAhead().Round(10 * time.Second).Seconds())
	facts.Etcd = p.etcd.facts
	if p.etcd.at.IsZero() && written != nil {
		facts.Etcd = written.Etcd
	}
	facts = *facts.DeepCopy()
	if p.host.seen.facts.ControlPlane {
		facts.StaticPods = append(facts.StaticPods, "kube-apiserver")
	}
	if p.host.seen.facts.EtcdMember {
		facts.StaticPods = append(facts.StaticPods, "etcd")
	}
	if p.host.engine.status == host.UpdateEngineNeedReboot {
		for i := range facts.Rehearsals {
			facts.Rehearsals[i].LeftOut = append(facts.Rehearsals[i].LeftOut, "the operating system that update_engine has staged: its boot was not rehearsed")
		}
	}
	if p.host.engine.problem != "" {
		facts.Problems = append(facts.Problems, p.host.engine.problem)
	}
	ofInventory.fit(&facts)
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
