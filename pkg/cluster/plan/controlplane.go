package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// findOldAPIServer returns the name of a node whose apiserver is not at the version
// yet, or has no pod: the pod is missing for a moment while kubeadm replaces it.
// Abandoned nodes do not count, because the pod of a machine that is off stays as it
// was. Nor do nodes that the upgrade skips, or for which late workers do not wait.
func (c *cluster) findOldAPIServer() string {
	if c.target == nil || !c.target.runsKubeadmUpgrade() {
		return ""
	}
	skipped := map[string]bool{}
	for _, n := range c.controlPlanes() {
		if n.abandoned != nil || c.target.leavesOut(n) || c.target.passes(n) {
			skipped[n.Name] = true
		}
	}
	seen := map[string]bool{}
	for _, pod := range c.apiServers {
		if !skipped[pod.Node] && !atLeast(parsed(pod.Version), c.target.to) {
			return pod.Node
		}
		seen[pod.Node] = true
	}
	for _, n := range c.controlPlanes() {
		if !skipped[n.Name] && !seen[n.Name] {
			return n.Name
		}
	}
	return ""
}

// notEveryAPIServer returns the message for an apiserver that is not at the version
// yet. It names an apiserver on a node without the control plane's label, because no
// upgrade changes that one: the label was lost, or the pod is not kubeadm's.
func (s *survey) notEveryAPIServer() string {
	message := fmt.Sprintf("not every kube-apiserver is at %s yet", s.cluster.target.to)
	if s.oldAPIServerUnlabelled() {
		message += fmt.Sprintf(": there is one on node %s, which is no control-plane node by its labels", s.oldAPIServer)
	}
	return message
}

// oldAPIServerUnlabelled reports whether the old kube-apiserver is on a node that is no
// control-plane node by its labels.
func (s *survey) oldAPIServerUnlabelled() bool {
	return s.oldAPIServer != "" && !slices.ContainsFunc(s.cluster.controlPlanes(), func(n *node) bool { return n.labelled && n.Name == s.oldAPIServer })
}

// firstControlPlane returns the node that runs `kubeadm upgrade apply`: the one that
// was chosen before, because it may have begun; else the first. Once a node has
// completed, the others run `kubeadm upgrade node` and the result is nil, as where Cluster API
// decides. A node that runs
// the version without a record of kubeadm (it joined so, or was given back meanwhile) will
// not run it: another one does, which may be a second time.
func (c *cluster) firstControlPlane() *node {
	if c.target == nil || !c.target.runsKubeadmUpgrade() || c.target.clusterAPIDecides {
		return nil
	}
	var first, chosen *node
	for _, n := range c.controlPlanes() {
		switch {
		case !n.concerned || n.lacksLabel():
			continue
		case atLeast(*n.runs.kubeadm, c.target.to):
			return nil
		case c.target.kubeadmDone(n):
			continue
		case first == nil:
			first = n
		}
		if chosen == nil && c.specIsForTarget(n) && n.spec.Kubeadm == v1alpha1.KubeadmApply {
			chosen = n
		}
	}
	if chosen != nil {
		return chosen
	}
	return first
}

// ownAPIServers returns the apiservers that the upgrade has to bring to the version.
func (r *reading) ownAPIServers(t *target) []clusterstate.StaticPod {
	own, _ := r.divideAPIServers(t)
	return own
}

// divideAPIServers returns the apiservers that the upgrade has to bring to the version,
// and those on nodes that it skips.
func (r *reading) divideAPIServers(t *target) (own, others []clusterstate.StaticPod) {
	skipped := map[string]bool{}
	for _, n := range r.nodes {
		if n.ControlPlane && t.leavesOut(n) {
			skipped[n.Name] = true
		}
	}
	for _, pod := range r.snapshot.APIServers {
		if skipped[pod.Node] {
			others = append(others, pod)
		} else {
			own = append(own, pod)
		}
	}
	return own, others
}

// isDowngrade reports whether an apiserver is newer than the version. Such an upgrade
// never becomes possible, and must not hold up later ones.
func (r *reading) isDowngrade(t *target) bool { return r.newerAPIServer(t) != nil }

// newerAPIServer returns an apiserver that is newer than the upgrade's version. Nil: there is
// none.
func (r *reading) newerAPIServer(t *target) *clusterstate.StaticPod {
	servers := r.onControlPlanes(r.ownAPIServers(t))
	i := slices.IndexFunc(servers, func(pod clusterstate.StaticPod) bool {
		return t.to.Less(parsed(pod.Version)) && !t.leavesNewer(parsed(pod.Version))
	})
	if i < 0 || !known(t.to) || t.back {
		return nil
	}
	return &servers[i]
}

// onControlPlanes returns the pods that do not run on nodes without the control plane's label. A
// kubelet may create any pod on its own node, and its agent report any, so an etcd member there
// must not count.
func (r *reading) onControlPlanes(pods []clusterstate.StaticPod) []clusterstate.StaticPod {
	nodes := make(map[string]bool, len(pods))
	for _, pod := range pods {
		nodes[pod.Node] = true
	}
	for _, n := range r.nodes {
		if !n.labelled {
			delete(nodes, n.Name)
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod clusterstate.StaticPod) bool { return !nodes[pod.Node] })
}

// findEtcdSnapshot returns the snapshot of etcd that the target's status is to have: the
// first that a node took for it. It reports whether no other has to be taken.
//
// Only a control-plane node whose NodeUpgrade.spec asks for a snapshot counts: any node's
// agent may write one into its own status, and kubeadm would then run without a real one.
//
// A snapshot on a node that is gone or abandoned does not count while kubeadm has begun
// on no node, because another one can be taken. For an upgrade that has ended no snapshot
// is needed, unless kubeadm has not run on any control plane yet.
func (c *cluster) findEtcdSnapshot() (taken *v1alpha1.EtcdSnapshot, enough bool) {
	late := c.kubeadmBegan()
	if taken = c.target.Status.EtcdSnapshot; c.target.forLateNodes && late {
		return taken, true
	}
	if taken != nil && c.isGone(taken.Node) && !late {
		taken = nil
	}
	if taken == nil {
		taken = c.firstEtcdSnapshot(func(n *node) bool { return n.abandoned == nil })
	}
	if taken == nil && late {
		taken = c.firstEtcdSnapshot(func(n *node) bool { return n.abandoned != nil })
	}
	return taken, taken != nil || c.target.strategy.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotSkip
}

// snapshotUnrecorded reports whether the node has taken the upgrade's snapshot of etcd, and the upgrade's status did not have it
// when it was read. Its NodeUpgrade.spec goes on to ask for one: the snapshot would not count if that write came first, and
// that of the status failed.
func (c *cluster) snapshotUnrecorded(n *node) bool {
	return c.etcdSnapshot != nil && c.etcdSnapshot.Node == n.Name && c.target.Status.EtcdSnapshot == nil && n.spec.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotRequired
}

// firstEtcdSnapshot returns the oldest snapshot that one of those nodes took for the
// upgrade.
func (c *cluster) firstEtcdSnapshot(of func(*node) bool) *v1alpha1.EtcdSnapshot {
	var first *v1alpha1.EtcdSnapshot
	for _, n := range c.controlPlanes() {
		s := n.status.EtcdSnapshot
		if s == nil || n.lacksLabel() || n.spec.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotRequired || !c.specIsForTarget(n) || !c.target.isFor(n.status.Upgrade) || !of(n) {
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

// chooseEtcdSnapshotNode returns the control-plane node that takes the snapshot of etcd:
// the first in pass 1. A node that has begun remains the choice, because it may have
// taken one already and not reported it.
func (s *survey) chooseEtcdSnapshotNode() *node {
	if s.cluster.snapshotTaken || !s.componentsLeft || s.cluster.target.certificates {
		return nil
	}
	var ready *node
	for _, n := range s.cluster.controlPlanes() {
		switch {
		case !n.concerned || n.kubeadmDone || n.lacksLabel():
		case n.busy() || n.reserved():
			return n
		case ready == nil && n.Ready && s.cluster.target.clusterAPIAllows(n):
			ready = n
		}
	}
	if s.first != nil {
		return s.first
	}
	return ready
}
