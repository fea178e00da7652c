package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// othersFirst holds a node while others go first: control planes in pass 1, then
// control-plane nodes, then group after group.
func othersFirst(c *cluster, n *node) fleet.Hold { return c.orWriteFailure(c.orderHold(n)) }

// orderHold returns the hold of a node that comes later in the order of nodes.
func (c *cluster) orderHold(n *node) fleet.Hold {
	if c.pass1 {
		return c.notInPass1(n)
	}
	for i, ahead := range c.ahead[:n.group] {
		switch {
		case ahead == nil:
		case c.groups[i].name == ControlPlaneGroup:
			return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: controlPlaneFirst}
		default:
			return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: fmt.Sprintf("group %s goes first", c.groups[i].name)}
		}
	}
	return fleet.Hold{}
}

// controlPlaneFirst is the message of workers, the same until their turn: each change of it
// would be a write for every worker.
const controlPlaneFirst = "control-plane nodes go first"

// notInPass1 holds every node in pass 1 except control planes whose kubeadm has not
// completed, of which the first goes alone.
func (c *cluster) notInPass1(n *node) fleet.Hold {
	var message string
	switch {
	case n.ControlPlane && c.first != nil && n != c.first:
		message = fmt.Sprintf("kubeadm upgrade apply runs on %s first", c.first.Name)
	case n.ControlPlane && !n.kubeadmDone && c.snapshotNode != nil && n != c.snapshotNode:
		message = fmt.Sprintf("%s takes a snapshot of etcd first", c.snapshotNode.Name)
	case n.ControlPlane && !n.kubeadmDone:
		return fleet.Hold{}
	case !n.ControlPlane && !c.oldAPIServerUnlabelled():
		message = controlPlaneFirst
	case c.oldAPIServer != "":
		message = c.notEveryAPIServer()
	default:
		message = fmt.Sprintf("kubeadm has not completed on every control-plane node at %s yet", c.target.to)
	}
	return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: message}
}
