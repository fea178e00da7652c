package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
)

// nodeFailed holds every node after another one has failed, or until one that failed
// in an earlier upgrade is back in service.
func nodeFailed(s *survey, _ *node) clusterstate.Hold {
	switch {
	case s.failed != nil:
		message := fmt.Sprintf("node %s failed (%s): no other node begins", s.failed.Name, s.failed.cause.Reason)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message}
	case s.aborting != nil:
		n := s.aborting
		message := fmt.Sprintf("node %s aborts its attempt at upgrade %s first, in which it failed; if it never comes back: `kubectl upgrade abandon %s`",
			n.Name, n.status.Upgrade.Name, n.Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
	}
	return clusterstate.Hold{}
}

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
// next; or while one is at work without an order.
func notBack(s *survey, _ *node) clusterstate.Hold {
	if s.lost == nil {
		return clusterstate.Hold{}
	}
	return s.lost.lostHold()
}

// lostHold returns the hold that a lost node puts on the others.
func (n *node) lostHold() clusterstate.Hold {
	if !n.busy() {
		message := fmt.Sprintf("node %s was upgraded, and has been NotReady since %s: no other node begins; docs/rollback.md says how its kubelet goes back, and if it never comes back: `kubectl upgrade abandon %s`",
			n.Name, clusterstate.FormatTime(*n.NotReadySince), n.Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotReadyAfterUpgrade, Message: message}
	}
	if n.withoutOrder() {
		work := "is in the step " + string(n.status.Step)
		if n.silent() {
			work = "holds " + n.lease.Name
		}
		message := fmt.Sprintf("node %s %s and has no order any more: no other node begins before it is between attempts; "+
			"if it never comes back: `kubectl upgrade abandon %s`", n.Name, work, n.Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: message}
	}
	known := ""
	if says := n.guardSays(); says != "" {
		known = "; its guard says: " + says
	} else if n.silentAt() != nil {
		known = "; " + n.silence()
	}
	message := fmt.Sprintf("node %s has been NotReady since %s, in the step %s%s; if it never comes back: `kubectl upgrade abandon %s`",
		n.Name, clusterstate.FormatTime(*n.NotReadySince), n.status.Step, known, n.Name)
	return clusterstate.Hold{Reason: v1alpha1.ReasonNodeNotBack, Message: message}
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
	if n.Ready || n.NotReadySince == nil || !n.busy() || n.locks() || n.failed() || n.abandoned != nil || n.noAgent() {
		return nil
	}
	timeout := notReadyTimeout
	if n.mayReboot() {
		timeout = max(minRebootTimeout, 2*c.durations[nodePart(n.ControlPlane)])
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

// otherManager holds every node while another program may reboot managed nodes.
func otherManager(c *cluster, n *node) clusterstate.Hold {
	hold := rules.OtherManager(c.reading.snapshot.RebootManagers, c.target.Spec, n.ControlPlane, c.leaves)
	hold.Stays = hold.Stays || hold.Holds() && c.lockOverdue()
	return hold
}

// lockLimit is how long kured may hold its lock before a person has to look at it: its
// node has not come back, or the lock was forgotten.
const lockLimit = time.Hour

// lockOverdue reports whether a lock of kured has been held for too long.
func (c *cluster) lockOverdue() bool {
	return slices.ContainsFunc(c.reading.snapshot.RebootManagers, func(m clusterstate.RebootManager) bool {
		return m.Since != nil && c.now.Sub(*m.Since) >= lockLimit && !rules.Ignored(m, c.target.Spec)
	})
}

// leaves reports whether the node of that name is left to other programs: it exists, is
// not managed, and no upgrade has taken it out of service.
func (c *cluster) leaves(name string) bool {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.Name == name })
	return i >= 0 && !c.manages(c.nodes[i]) && !c.nodes[i].busy()
}

// rebootedByOthers returns the nodes left to kured that it holds its lock for: it takes
// them out of service, or is about to.
func (c *cluster) rebootedByOthers() (nodes []string) {
	for _, manager := range c.reading.snapshot.RebootManagers {
		if c.target != nil && !rules.Ignored(manager, c.target.Spec) && rules.LeftToOthers(manager, c.leaves) {
			nodes = append(nodes, manager.Nodes...)
		}
	}
	return nodes
}

// checksBlock holds every node because of what preflight found.
func checksBlock(s *survey, _ *node) clusterstate.Hold {
	if len(s.cluster.checks.blockAll) == 0 {
		return clusterstate.Hold{}
	}
	return s.allBlocked()
}

// checkBlocksNode holds the node because of what preflight found on it.
func checkBlocksNode(c *cluster, n *node) clusterstate.Hold {
	f := c.checks.blockNode[n.Name]
	if f == nil {
		return clusterstate.Hold{}
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonPreflight, Message: sentences(f), Stays: true}
}

// allBlocked returns the first finding that holds every node, and how many more there
// are. While a control-plane node is being upgraded, findings may be caused by the upgrade
// itself, as its pods and its etcd member restart: no person has to act on them.
func (s *survey) allBlocked() clusterstate.Hold {
	if s.busyControlPlane != nil {
		message := fmt.Sprintf("control-plane node %s is being upgraded; the checks decide when it is done", s.busyControlPlane.Name)
		return clusterstate.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message}
	}
	message := sentences(s.cluster.checks.blockAll[0])
	switch more := len(s.cluster.checks.blockAll) - 1; more {
	case 0:
	case 1:
		message += " One more check blocks."
	default:
		message += fmt.Sprintf(" %d more checks block.", more)
	}
	return clusterstate.Hold{Reason: v1alpha1.ReasonPreflight, Message: message, Stays: true}
}
