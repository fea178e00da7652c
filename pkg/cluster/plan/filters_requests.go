package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Where Cluster API decides on versions, it asks for one node after another: its order replaces
// the planner's. There is no pass 1: a control-plane node runs kubeadm and gets its kubelet in one
// turn, so that its kubelet may be newer than the other control planes' apiservers, but not than
// its own. Cluster API has changed kubeadm's configuration of the cluster before, so that no node
// runs `kubeadm upgrade apply`.

// ByRequest reports whether Cluster API decides which nodes begin an upgrade to a version. The policy
// may be nil.
func ByRequest(policy *v1alpha1.UpgradePolicy) bool {
	return policy != nil && policy.Spec.VersionsFrom == v1alpha1.VersionsFromClusterAPI
}

// RequestGate holds a node that Cluster API does not ask for, where it decides. The agent calls it again
// with what it reads itself.
func RequestGate(policy *v1alpha1.UpgradePolicy, upgrade v1alpha1.ClusterUpgradeSpec, kind v1alpha1.UpgradeType, node, uid string) fleet.Hold {
	if !ByRequest(policy) || kind.KubeletsOnly() || upgrade.Requests(node, uid) {
		return fleet.Hold{}
	}
	return notRequestedHold
}

// notRequestedHold is the hold of a node that Cluster API does not ask for.
var notRequestedHold = fleet.Hold{
	Reason: v1alpha1.ReasonNotRequested, Message: "Cluster API decides on versions here (versionsFrom of the UpgradePolicy), and has not asked for this node",
}

// requests reports whether the node may begin as far as Cluster API decides that.
func (t *target) requests(n *node) bool {
	return !t.byRequest || t.Spec.Requests(n.Name, n.UID)
}

// notRequested holds a node that Cluster API does not ask for.
func notRequested(c *cluster, n *node) fleet.Hold { return c.target.requestHold(n) }

func (t *target) requestHold(n *node) fleet.Hold {
	switch {
	case !t.requests(n):
		return notRequestedHold
	case known(t.awaited) && n.ControlPlane && n.runs.kubelet.Less(t.awaited):
		message := fmt.Sprintf("Cluster API is to bring this control plane to %s, which reboots it: out of service before that, its machine might be replaced", t.awaited)
		return fleet.Hold{Reason: v1alpha1.ReasonNotRequested, Message: message}
	}
	return fleet.Hold{}
}

// awaited returns the newest version that an upgrade is to bring nodes to by Cluster API's requests, if t
// needs no request itself. A control plane that KubeadmControlPlane finds to be outdated and not healthy is
// deleted without a question (Cluster API 1.14, kubeadmcontrolplane/scale.go).
func (r *reading) awaited(t *target) (to version.Version) {
	if !t.kubeletsOnly() || !ByRequest(r.snapshot.Policy) {
		return to
	}
	for i := range r.snapshot.Upgrades {
		u := &r.snapshot.Upgrades[i]
		if v := parsed(u.Spec.Version); known(v) && u.Status.Outcome == "" && u.DeletionTimestamp == nil && TypeOf(u) != v1alpha1.TypeRollback && to.Less(v) {
			to = v
		}
	}
	return to
}

// inOneTurn reports whether the node runs kubeadm for its control plane and gets its kubelet in one
// turn, and has not run kubeadm yet.
func (t *target) inOneTurn(n *node) bool {
	return t != nil && t.byRequest && n.ControlPlane && !n.kubeadmDone
}

// otherAPIServer holds a control-plane node that would get a newer minor than the other apiservers in
// one turn, and whose kubelet may talk to one of these.
func otherAPIServer(c *cluster, n *node) fleet.Hold {
	local := n.facts != nil && n.facts.OwnAPIServer
	if !c.target.byRequest || !n.ControlPlane || local {
		return fleet.Hold{}
	}
	for _, pod := range c.apiServers {
		if err := version.CheckKubelet(c.target.to, parsed(pod.Version)); err != nil && pod.Node != n.Name {
			message := fmt.Sprintf("its kubelet does not talk to its own kube-apiserver, and that of node %s is older: /etc/kubernetes/kubelet.conf has to name this node's address (kubeadm's feature gate ControlPlaneKubeletLocalMode, on since 1.33)", pod.Node)
			return fleet.Hold{Reason: v1alpha1.ReasonSkew, Message: message}
		}
	}
	return fleet.Hold{}
}
