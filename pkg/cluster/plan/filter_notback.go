package plan

import (
	"fmt"
	"slices"
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
	// relapsesFor is how long after its upgrade a node that stops being Ready is taken to
	// have done so because of it.
	relapsesFor = time.Hour
)

// notBack holds every node while one that went out of service does not come back,
// or was upgraded and stopped being Ready soon after, because the same might happen to the
// next.
func notBack(c *cluster, _ *node) fleet.Hold {
	if c.lost == nil {
		return fleet.Hold{}
	}
	return c.lost.notBack()
}

// notBack returns the hold that a lost node puts on the others.
func (n *node) notBack() fleet.Hold {
	if !n.busy() {
		message := fmt.Sprintf("node %s was upgraded, and has been NotReady since %s: no other node begins; docs/rollback.md says how its kubelet goes back, and if it never comes back: `kubectl upgrade abandon %s`",
			n.Name, clock(*n.NotReadySince), n.Name)
		return fleet.Hold{Reason: v1alpha1.ReasonNotReadyAfterUpgrade, Message: message}
	}
	message := fmt.Sprintf("node %s has been NotReady since %s, in the step %s; if it never comes back: `kubectl upgrade abandon %s`",
		n.Name, clock(*n.NotReadySince), n.status.Step, n.Name)
	return fleet.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: message}
}

// relapsed reports whether the upgrade had upgraded the node, which stopped being Ready soon
// after: a kubelet may die minutes after it has become Ready.
func (c *cluster) relapsed(n *node) bool {
	if n.Ready || n.NotReadySince == nil || n.busy() || !n.concerned || !n.upToDate || !c.target.isFor(n.status.Upgrade) {
		return false
	}
	for _, step := range slices.Backward(n.status.Steps) {
		if step.Step == v1alpha1.StepUnlocking && step.EndTime != nil {
			return n.NotReadySince.Sub(step.EndTime.Time) <= relapsesFor
		}
	}
	return false
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
