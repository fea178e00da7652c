package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// findSnapshot takes over into the upgrade's status the snapshot of etcd that a
// node has taken for it: the first, should there be several. One that left the
// cluster with its node, or lies on a node that a person gave up, is none as long
// as nobody's kubeadm has begun: another one can be taken.
//
// Who comes late to an upgrade that is over goes without, but for a control plane
// that comes back as the first: the others were upgraded while it was given up.
func (d *decider) findSnapshot() {
	if d.target == nil {
		d.saved = true
		return
	}
	status := &d.target.Status
	late := d.anyKubeadm()
	if d.converging && late {
		d.saved = true
		return
	}
	if taken := status.EtcdSnapshot; taken != nil && d.isGone(taken.Node) && !late {
		status.EtcdSnapshot = nil
	}
	if status.EtcdSnapshot == nil {
		status.EtcdSnapshot = d.firstSnapshot(func(n *node) bool { return !n.abandoned() })
	}
	if status.EtcdSnapshot == nil && late {
		status.EtcdSnapshot = d.firstSnapshot((*node).abandoned)
	}
	d.saved = status.EtcdSnapshot != nil || d.strategy.EtcdSnapshot == v1alpha1.EtcdSnapshotSkip
}

// firstSnapshot is the first that one of those nodes has taken for the upgrade.
func (d *decider) firstSnapshot(of func(*node) bool) *v1alpha1.EtcdSnapshot {
	var first *v1alpha1.EtcdSnapshot
	for _, n := range d.nodes {
		s := n.status.EtcdSnapshot
		if s == nil || !isFor(n.status.Upgrade, d.target) || !of(n) {
			continue
		}
		if first == nil || s.CreationTime.Before(&first.CreationTime) {
			first = s
		}
	}
	return first.DeepCopy()
}

func (d *decider) isGone(name string) bool {
	return !slices.ContainsFunc(d.nodes, func(n *node) bool { return n.Name == name && !n.abandoned() })
}

// anyKubeadm is whether kubeadm has begun with the version on a control plane, or
// may have: then a snapshot would come too late. What happened on one that was
// given up is not known; a late snapshot is better than none.
func (d *decider) anyKubeadm() bool {
	return slices.ContainsFunc(d.nodes, func(n *node) bool {
		return n.ControlPlane && !n.abandoned() && (n.kubeadmAt(d.to) || d.forTarget(n) && n.status.Step == v1alpha1.StepKubeadm)
	})
}

// chooseSaver picks the control-plane node that takes the snapshot of etcd: the
// one that goes first in pass 1. One that has begun stays it, as it may have one
// by now that has not been told of.
func (d *decider) chooseSaver() {
	if d.saved || !d.pass1 {
		return
	}
	var first *node
	for _, n := range d.nodes {
		switch {
		case !n.ControlPlane || !n.counts() || n.kubeadmAt(d.to):
		case n.busy() || n.promised():
			d.saver = n
			return
		case first == nil && n.Ready:
			first = n
		}
	}
	d.saver = first
	if d.applier != nil {
		d.saver = d.applier
	}
}
