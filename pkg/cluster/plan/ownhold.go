package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// An agent asks a gate of its own before it takes the slot, and reads more than the coordinator: its clock, the
// keyring on its host, what the API server says now. A released node that it keeps waits like any other, with
// the agent's reason. After stuckAfter its release is withdrawn, so that others go on, and it is released again
// once its agent says something else.

// locks reports whether the node's agent is about to take its slot, and has not.
func (n *node) locks() bool {
	return n.status.Step == v1alpha1.StepLocking && !n.tookSlot && !n.holdsLease() && !n.marked()
}

// locksInVain reports whether the node locks, and neither its order nor a Lease has a slot for it.
func (n *node) locksInVain() bool { return n.locks() && n.spec.Slot == "" && n.lease == nil }

// ownHold returns why the agent of a node that locks does not take its slot. It stays once that has lasted.
func (n *node) ownHold(now time.Time) clusterstate.Hold {
	at := n.ownHoldCountsAt()
	if at == nil {
		return clusterstate.Hold{}
	}
	hold := n.agentsHold()
	if hold.Stays = !now.Before(*at); hold.Reason == v1alpha1.ReasonAgentNotAnswering && !hold.Stays {
		return clusterstate.Hold{}
	}
	return hold
}

// keptByAgent begins the message of a node that its agent keeps.
const keptByAgent = "its agent does not take the slot: "

func (n *node) agentsHold() clusterstate.Hold {
	hold := clusterstate.Hold{Reason: n.ownReason(), Message: n.cause.Message, Stays: true}
	pods := fmt.Sprintf("`kubectl -n %s get pods -o wide` shows the agents' pods", v1alpha1.Namespace)
	switch {
	case !n.Ready:
		hold.Reason, hold.Message = v1alpha1.ReasonNodeNotReady, "the node is not Ready"
	case n.AgentProblem != "":
		hold.Reason, hold.Message = v1alpha1.ReasonAgentNotAnswering, n.AgentProblem+"; "+pods
	case hold.Reason == v1alpha1.ReasonAgentNotAnswering:
		hold.Message = "it does not say why; " + pods
	}
	hold.Message = keptByAgent + hold.Message
	return hold
}

// ownReason returns the reason that the agent gives. A step without one is that of a released node.
func (n *node) ownReason() v1alpha1.Reason {
	switch n.cause.Reason {
	case "", v1alpha1.ReasonReleased, v1alpha1.ReasonAwaitingRelease:
		return v1alpha1.ReasonAgentNotAnswering
	}
	return n.cause.Reason
}

// ownHoldCountsAt returns when the release of a node that locks is withdrawn. Nil: the node does not lock.
func (n *node) ownHoldCountsAt() *time.Time {
	if !n.locks() {
		return nil
	}
	at := passBegan(n, time.Time{}).Add(stuckAfter)
	return &at
}

// heldBack reports whether the release of a node that locked was withdrawn as its agent did not take the slot, and
// it still locks, or waits for the reason that it gave. It has no slot, and can take none.
func (n *node) heldBack() bool {
	withdrawn := !n.released() && n.lease == nil && n.admission != nil && n.admission.Status == metav1.ConditionFalse
	if !withdrawn || !strings.HasPrefix(n.admission.Message, keptByAgent) {
		return false
	}
	return n.locks() || n.lockedLast() && n.ownReason() == n.cause.Reason && v1alpha1.Reason(n.admission.Reason) == n.ownReason()
}

// lockedLast reports whether the node waits, and was about to take its slot before that.
func (n *node) lockedLast() bool {
	last := len(n.status.Steps) - 2
	return n.status.Step == v1alpha1.StepWaiting && last >= 0 && n.status.Steps[last].Step == v1alpha1.StepLocking
}

// isKept reports whether the node's agent keeps it from beginning the upgrade.
func (t *target) isKept(n *node) bool {
	return n.heldBack() && (n.locks() || t.isFor(n.status.Upgrade))
}

// agentHolds holds a node whose release was withdrawn as its agent did not take the slot.
func agentHolds(c *cluster, n *node) clusterstate.Hold {
	if !c.target.isKept(n) {
		return clusterstate.Hold{}
	}
	return n.agentsHold()
}
