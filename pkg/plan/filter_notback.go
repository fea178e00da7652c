package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

const (
	// minRebootTimeout is the least time that a rebooting node may be NotReady before
	// it counts as lost: a real machine takes minutes for its firmware alone.
	minRebootTimeout = 5 * time.Minute
	// notReadyTimeout is how long a node may be NotReady in a step in which it does not
	// reboot. Kubernetes itself waits 40 seconds before it marks a node NotReady.
	notReadyTimeout = time.Minute
)

// notBack holds every node while one that went out of service does not come back,
// because the same might happen to the next.
func notBack(c *cluster, _ *node) fleet.Hold {
	if c.lost == nil {
		return fleet.Hold{}
	}
	return c.lost.notBack()
}

// notBack returns the hold that a lost node puts on the others.
func (n *node) notBack() fleet.Hold {
	message := fmt.Sprintf("node %s has been NotReady since %s, in the step %s; if it never comes back: `kubectl upgrade abandon %s`",
		n.Name, clock(*n.NotReadySince), n.status.Step, n.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: message}
}

// isLost reports whether a busy node has been NotReady for longer than its step should
// take: its power failed, its network is cut, or it does not boot.
func (c *cluster) isLost(n *node) bool {
	at := c.lostAt(n)
	return at != nil && !c.now.Before(*at)
}

// lostAt returns when the node counts as lost if it stays NotReady; nil: never.
func (c *cluster) lostAt(n *node) *time.Time {
	if n.Ready || n.NotReadySince == nil || !n.busy() || n.failed() || n.abandoned != nil || n.noAgent() {
		return nil
	}
	timeout := notReadyTimeout
	if n.mayReboot() {
		timeout = max(minRebootTimeout, 2*c.medians().of[nodePart(n.ControlPlane)])
	}
	at := n.NotReadySince.Add(timeout)
	return &at
}

// mayReboot reports whether the node may reboot in its step. It may in a step of a
// newer agent, which this version does not know.
func (n *node) mayReboot() bool {
	switch n.status.Step {
	case v1alpha1.StepUncordoning, v1alpha1.StepObserving, v1alpha1.StepUnlocking:
		return false
	}
	return n.phase == v1alpha1.PhaseCommitted
}
