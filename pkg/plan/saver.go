package plan

import (
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// findSnapshot takes over into the upgrade's status the snapshot of etcd that a
// node has taken for it: the first, should there be several. One that left the
// cluster with its node, before anybody's kubeadm, is none.
func (d *decider) findSnapshot() {
	if d.target == nil || d.converging {
		d.saved = true
		return
	}
	status := &d.target.Status
	if taken := status.EtcdSnapshot; taken != nil && d.isGone(taken.Node) && !d.anyKubeadm() {
		status.EtcdSnapshot = nil
	}
	if status.EtcdSnapshot == nil {
		var taken []*v1alpha1.EtcdSnapshot
		for _, n := range d.nodes {
			if s := n.status.EtcdSnapshot; s != nil && s.Upgrade == d.target.Name {
				taken = append(taken, s)
			}
		}
		if len(taken) > 0 {
			first := slices.MinFunc(taken, func(a, b *v1alpha1.EtcdSnapshot) int { return a.TakenAt.Compare(b.TakenAt.Time) })
			status.EtcdSnapshot = first.DeepCopy()
		}
	}
	d.saved = status.EtcdSnapshot != nil || d.strategy.EtcdSnapshot == v1alpha1.EtcdSnapshotSkip
}

func (d *decider) isGone(name string) bool {
	return !slices.ContainsFunc(d.nodes, func(n *node) bool { return n.Name == name })
}

// anyKubeadm is whether kubeadm has begun with the version on a control plane, or
// may have: then a snapshot would come too late.
func (d *decider) anyKubeadm() bool {
	return slices.ContainsFunc(d.nodes, func(n *node) bool {
		return n.ControlPlane && (n.kubeadmAt(d.to) || d.forTarget(n) && n.status.Step == v1alpha1.StepKubeadm)
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
