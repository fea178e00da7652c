package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/quorum"
)

// etcdQuorum holds a control-plane node without which etcd would lose its quorum.
// Where one control-plane node has a member, each of them has one, though its pod
// may be away for a moment. A person who ignores the check goes with two members,
// too, and does without the API meanwhile.
func etcdQuorum(c *cluster, n *node) fleet.Hold {
	if !n.ControlPlane || c.target.Spec.Ignores(preflight.EtcdQuorum) {
		return fleet.Hold{}
	}
	members := 0
	for _, other := range c.controlPlanes() {
		if other.abandoned == nil {
			members++
		}
	}
	return EtcdGate(c.etcd, members, n.Name)
}

// EtcdGate says whether etcd allows the node to be away: with it, fewer members
// than a majority would be left. members is how many there are to be, if that is
// more than were found. A single one is allowed: the API is then away as long as
// its node. The agent asks it again with what it reads itself.
func EtcdGate(etcd []fleet.StaticPod, members int, node string) fleet.Hold {
	members = max(members, len(etcd))
	others := 0
	for _, pod := range etcd {
		if pod.Ready && pod.Node != node {
			others++
		}
	}
	majority := quorum.Majority(members)
	if len(etcd) == 0 || members == 1 || others >= majority {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("etcd has %d members and would have %d of the %d it needs while this node is away", members, others, majority)
	if members == 2 {
		message += "; add a third control-plane node"
	}
	return fleet.Hold{Reason: v1alpha1.ReasonEtcdQuorum, Message: message}
}
