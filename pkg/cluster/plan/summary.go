package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// summary returns what the whole upgrade waits for: what stops it, else which node is
// being upgraded, else the hold of the first node that does not just wait for its turn.
func (p *planner) summary() fleet.Hold {
	switch {
	case p.target.hold.Holds():
		return p.target.hold
	case p.failed != nil:
		return failure(p.failed)
	case p.lost != nil:
		hold := p.lost.notBack()
		hold.Stays = true
		return hold
	}
	active, blocked, waiting, queued := p.firsts()
	switch {
	case active >= 0 && p.survey.writeFailed != nil:
		return p.survey.writeFailed.cannotWrite()
	case active >= 0:
		return fleet.Hold{Reason: v1alpha1.ReasonReleased, Message: fmt.Sprintf("node %s is being upgraded", p.nodes[active].Name)}
	case len(p.checks.blockAll) > 0:
		return p.allBlocked()
	case waiting >= 0:
		return p.whyWaiting(p.verdicts[waiting].hold)
	case blocked >= 0:
		return p.whyBlocked(blocked)
	case queued >= 0:
		return p.verdicts[queued].hold
	}
	return fleet.Hold{Reason: v1alpha1.ReasonControlPlaneFirst, Message: p.notEveryAPIServer()}
}

// firsts returns the indices of the first node that is being upgraded, that is blocked,
// that waits for a reason of its own, and that waits for other nodes; -1: there is none.
func (p *planner) firsts() (active, blocked, waiting, queued int) {
	active, blocked, waiting, queued = -1, -1, -1, -1
	first := func(at *int, i int) {
		if *at < 0 {
			*at = i
		}
	}
	for i, n := range p.nodes {
		v := &p.verdicts[i]
		switch {
		case !n.concerned || v.decision == Done:
		case v.decision == Blocked:
			if blocked >= 0 && p.verdicts[blocked].hold.Reason.Info().HeldByPeople && !v.hold.Reason.Info().HeldByPeople {
				blocked = i // a problem is said before a hold that people chose
			}
			first(&blocked, i)
		case v.decision == Go || n.busy():
			first(&active, i)
		case v.hold.Reason.Info().WaitsForOthers:
			first(&queued, i)
		default:
			first(&waiting, i)
		}
	}
	return active, blocked, waiting, queued
}

// whyWaiting returns the hold of a waiting node as the whole upgrade's: it stays if an
// image cannot be staged.
func (p *planner) whyWaiting(hold fleet.Hold) fleet.Hold {
	hold.Stays = hold.Reason == v1alpha1.ReasonNotStaged && p.stageError != nil
	return hold
}

// whyBlocked returns the hold of a blocked node as the whole upgrade's, with the node's
// name if it concerns only that node.
func (p *planner) whyBlocked(i int) fleet.Hold {
	hold := p.verdicts[i].hold
	switch hold.Reason {
	case p.held.Reason:
		return p.held
	case v1alpha1.ReasonNodeNotReady:
		if p.nodes[i].Ready { // it says which node is not
			return hold
		}
	case v1alpha1.ReasonNodeNotBack, v1alpha1.ReasonNotReadyAfterUpgrade:
		hold.Stays = true
		return hold
	}
	return fleet.Hold{Reason: hold.Reason, Message: fmt.Sprintf("node %s: %s", p.nodes[i].Name, hold.Message), Stays: true}
}

// failure returns the hold of an upgrade in which the node failed.
func failure(n *node) fleet.Hold {
	message := fmt.Sprintf("node %s failed (%s): %s", n.Name, n.cause.Reason, n.cause.Message)
	return fleet.Hold{Reason: v1alpha1.ReasonNodeFailed, Message: message, Stays: true}
}
