package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

const (
	// rebootPatience is how long a node may be NotReady at least where it reboots: a
	// real machine takes minutes for its firmware alone.
	rebootPatience = 5 * time.Minute
	// upPatience is how long a node may be NotReady in a step in which it does not
	// reboot. Kubernetes itself waits for 40 seconds before it calls a node so.
	upPatience = time.Minute
)

// notBack holds every node while one that went out of service does not come back:
// the same might happen to the next.
func notBack(c *cluster, _ *node) fleet.Hold {
	if c.lost == nil {
		return fleet.Hold{}
	}
	return c.lost.notBack()
}

// notBack says that the node does not come back, since when, and what a person can do.
func (n *node) notBack() fleet.Hold {
	message := fmt.Sprintf("node %s does not come back: NotReady since %s, in the step %s; if it never comes back: `kubectl upgrade abandon %s`",
		n.Name, clock(*n.NotReadySince), n.status.Step, n.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: message}
}

// isLost reports whether a node that is out of service by our doing is away for longer
// than is expected of its step: its power failed, its network is cut, or it does not
// boot.
func (c *cluster) isLost(n *node) bool {
	at := c.lostAt(n)
	return at != nil && !c.now.Before(*at)
}

// lostAt returns when the node counts as lost, if it is not Ready before. Nil: never.
func (c *cluster) lostAt(n *node) *time.Time {
	if n.Ready || n.NotReadySince == nil || !n.busy() || n.failed() || n.abandoned != nil || n.unsupported() {
		return nil
	}
	patience := upPatience
	if n.mayReboot() {
		patience = max(rebootPatience, 2*c.usual().of[nodePart(n.ControlPlane)])
	}
	at := n.NotReadySince.Add(patience)
	return &at
}

// mayReboot reports whether the node may be away in its step. So it is in a step of a
// newer agent, of which nothing is known.
func (n *node) mayReboot() bool {
	switch n.status.Step {
	case v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepUnlocking:
		return false
	}
	return n.phase == v1alpha1.PhaseCommitted
}
