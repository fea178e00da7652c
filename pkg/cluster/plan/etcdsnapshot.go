package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// adoptEtcdSnapshot copies the first snapshot of etcd that a node took for the upgrade
// into the upgrade's status. It reports whether no other has to be taken.
//
// Only a control-plane node whose NodeUpgrade.spec asks for a snapshot counts: any node's
// agent may write one into its own status, and kubeadm would then run without a real one.
//
// A snapshot on a node that is gone or abandoned does not count while kubeadm has begun
// on no node, because another one can be taken. For an upgrade that has ended no snapshot
// is needed, unless kubeadm has not run on any control plane yet.
func (c *cluster) adoptEtcdSnapshot() bool {
	t := c.target
	if t == nil {
		return true
	}
	late := c.kubeadmBegan()
	if t.forLateNodes && late {
		return true
	}
	if taken := t.Status.EtcdSnapshot; taken != nil && c.isGone(taken.Node) && !late {
		t.Status.EtcdSnapshot = nil
	}
	if t.Status.EtcdSnapshot == nil {
		t.Status.EtcdSnapshot = c.firstSnapshot(func(n *node) bool { return n.abandoned == nil })
	}
	if t.Status.EtcdSnapshot == nil && late {
		t.Status.EtcdSnapshot = c.firstSnapshot(func(n *node) bool { return n.abandoned != nil })
	}
	return t.Status.EtcdSnapshot != nil || t.strategy.EtcdSnapshot == v1alpha1.EtcdSnapshotSkip
}

// firstSnapshot returns the oldest snapshot that one of those nodes took for the
// upgrade.
func (c *cluster) firstSnapshot(of func(*node) bool) *v1alpha1.EtcdSnapshot {
	var first *v1alpha1.EtcdSnapshot
	for _, n := range c.controlPlanes() {
		s := n.status.EtcdSnapshot
		if s == nil || n.lacksLabel() || !n.spec.EtcdSnapshot || !c.specIsForTarget(n) || !c.target.isFor(n.status.Upgrade) || !of(n) {
			continue
		}
		if first == nil || s.CreationTime.Before(&first.CreationTime) {
			first = s
		}
	}
	return first.DeepCopy()
}

func (c *cluster) isGone(name string) bool {
	return !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.Name == name && n.abandoned == nil })
}

// kubeadmBegan reports whether kubeadm may have begun to install the version on a
// control plane: then a snapshot would be too late. Abandoned nodes are ignored,
// because their state is unknown and a late snapshot is better than none.
func (c *cluster) kubeadmBegan() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool {
		return n.abandoned == nil && n.labelled && (n.kubeadmDone || c.specIsForTarget(n) && n.status.Step == v1alpha1.StepKubeadm)
	})
}

// chooseSnapshotNode returns the control-plane node that takes the snapshot of etcd:
// the first in pass 1. A node that has begun remains the choice, because it may have
// taken one already and not reported it.
func (c *cluster) chooseSnapshotNode(s survey) *node {
	if c.snapshotTaken || !s.pass1 {
		return nil
	}
	var ready *node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.concerned || n.kubeadmDone || n.lacksLabel():
		case n.busy() || n.reserved():
			return n
		case ready == nil && n.Ready:
			ready = n
		}
	}
	if s.first != nil {
		return s.first
	}
	return ready
}
