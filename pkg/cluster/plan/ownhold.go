package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// An agent asks a gate of its own before it takes the slot, and reads more than the coordinator: its clock, the
// keyring on its host, what the API server says now. A released node that it keeps waits like any other, with
// the agent's reason. After stuckAfter its release is withdrawn, so that others go on, and it is released again
// once its agent says something else.

// locks reports whether the node's agent is about to take its slot, and has not.
func (n *node) locks() bool {
	return n.status.Step == v1alpha1.StepLocking && !n.tookSlot && !n.holdsLease() && !n.marked()
}

// ownHold returns why the agent of a node that locks does not take its slot. It stays once that has lasted.
func (n *node) ownHold(now time.Time) fleet.Hold {
	at := n.ownHoldCountsAt()
	if at == nil || n.ownReason() == v1alpha1.ReasonAgentNotAnswering && now.Before(*at) {
		return fleet.Hold{}
	}
	hold := n.agentsHold()
	hold.Stays = !now.Before(*at)
	return hold
}

// keptByAgent begins the message of a node that its agent keeps.
const keptByAgent = "its agent does not take the slot: "

func (n *node) agentsHold() fleet.Hold {
	message := n.cause.Message
	if n.ownReason() == v1alpha1.ReasonAgentNotAnswering {
		message = fmt.Sprintf("it does not say why; `kubectl -n %s get pods -o wide` shows the agents' pods", v1alpha1.Namespace)
	}
	return fleet.Hold{Reason: n.ownReason(), Message: keptByAgent + message, Stays: true}
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

// heldBack reports whether the release of a node that locked was withdrawn for its agent's reason, and the agent
// still gives it. It has no slot, and can take none.
func (n *node) heldBack() bool {
	if n.released() || n.lease != nil || n.admission == nil || n.admission.Status != metav1.ConditionFalse {
		return false
	}
	stillGivesIt := n.locks() || n.lockedLast() && n.ownReason() == n.cause.Reason
	return stillGivesIt && v1alpha1.Reason(n.admission.Reason) == n.ownReason() && strings.HasPrefix(n.admission.Message, keptByAgent)
}

// lockedLast reports whether the node waits, and was about to take its slot before that.
func (n *node) lockedLast() bool {
	last := len(n.status.Steps) - 2
	return n.status.Step == v1alpha1.StepWaiting && last >= 0 && n.status.Steps[last].Step == v1alpha1.StepLocking
}

// agentHolds holds a node whose release was withdrawn for its agent's reason.
func agentHolds(c *cluster, n *node) fleet.Hold {
	if !n.heldBack() || !c.target.isFor(n.status.Upgrade) {
		return fleet.Hold{}
	}
	return n.agentsHold()
}
