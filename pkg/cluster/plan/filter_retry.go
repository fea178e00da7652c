package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// otherRetries holds every node while one whose attempt failed waits for its retry:
// what stopped it would stop the next.
func otherRetries(c *cluster, n *node) fleet.Hold {
	first := c.retrying
	switch {
	case first == nil:
		return fleet.Hold{}
	case c.retries(n):
		return fleet.Hold{Reason: n.cause.Reason, Message: n.cause.Message, Until: n.retryAt}
	}
	message := fmt.Sprintf("node %s aborted its attempt (%s) and tries again %s; no other node begins before", first.Name, first.cause.Reason, clock(*first.retryAt))
	return fleet.Hold{Reason: v1alpha1.ReasonNotItsTurn, Message: message, Until: first.retryAt}
}

// retries reports whether the node's attempt failed and it waits for its retry.
func (c *cluster) retries(n *node) bool {
	return n.retryAt != nil && n.retryAt.After(c.now) && n.staged
}
