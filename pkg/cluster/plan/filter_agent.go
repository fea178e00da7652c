package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// agentNotAnswering holds a node whose agent does not answer. A node that is released already
// loses its release and its slot, if it has not begun.
func agentNotAnswering(c *cluster, n *node) fleet.Hold { return n.agentHold(c.now) }

// agentHold returns the hold of a node whose agent does not answer.
func (n *node) agentHold(now time.Time) fleet.Hold {
	problem := n.agentSilent(now)
	if problem == "" {
		return fleet.Hold{}
	}
	message := fmt.Sprintf("no agent answers on the node: %s; `kubectl -n %s get pods -o wide` shows the agents' pods", problem, v1alpha1.Namespace)
	return fleet.Hold{Reason: v1alpha1.ReasonAgentNotAnswering, Message: message, Stays: hasLasted(n.agentSilentSince(), now)}
}
