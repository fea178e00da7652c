package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// findSnapshot takes over into the upgrade's status the snapshot of etcd that a
// node has taken for it: the first, should there be several. It reports whether none
// is to be taken any more.
//
// Only the control-plane node that was asked for one is believed: any node's agent
// may write into its own status that it took one, and kubeadm would begin without.
//
// A snapshot that left the cluster with its node, or lies on an abandoned node, is
// none as long as kubeadm has begun on no node: another one can be taken. A node
// that comes late to an upgrade that is over goes without, but for a control plane
// that comes back as the first: the others were upgraded while it was abandoned.
func (c *cluster) findSnapshot() bool {
	t := c.target
	if t == nil {
		return true
	}
	late := c.kubeadmBegan()
	if t.follows && late {
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

// firstSnapshot returns the first that one of those nodes has taken for the upgrade.
func (c *cluster) firstSnapshot(of func(*node) bool) *v1alpha1.EtcdSnapshot {
	var first *v1alpha1.EtcdSnapshot
	for _, n := range c.controlPlanes() {
		s := n.status.EtcdSnapshot
		if s == nil || !n.spec.EtcdSnapshot || !c.orders(n) || !c.target.isFor(n.status.Upgrade) || !of(n) {
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

// kubeadmBegan reports whether kubeadm has begun with the version on a control
// plane, or may have: then a snapshot would come too late. What happened on an
// abandoned one is not known; a late snapshot is better than none.
func (c *cluster) kubeadmBegan() bool {
	return slices.ContainsFunc(c.controlPlanes(), func(n *node) bool {
		return n.abandoned == nil && (n.kubeadmDone || c.orders(n) && n.status.Step == v1alpha1.StepKubeadm)
	})
}

// chooseSnapshotNode returns the control-plane node that takes the snapshot of etcd:
// the one that goes first in pass 1. One that has begun stays it, as it may have one
// by now that has not been reported.
func (c *cluster) chooseSnapshotNode(s survey) *node {
	if c.snapshotTaken || !s.pass1 {
		return nil
	}
	var ready *node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.concerned || n.kubeadmDone:
		case n.busy() || n.promised():
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
