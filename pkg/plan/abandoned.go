package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// returned is whether a node that a person gave up is heard of again, so that
// the person's mark is to be taken away.
//
// No clock says so, as those of nodes may be wrong, and a status that was on its
// way when its node hung arrives late. The coordinator has told the node, in its
// spec, that it was given up, and the agent has answered by that spec's
// generation: it knows that its release and its slot are gone, and begins anew
// with both. One whose node is not Ready, or failed, would only stop the others
// again.
func (n *node) returned() bool {
	if n.abandon == "" {
		return false
	}
	told := n.spec.Reason == v1alpha1.ReasonAbandoned && !n.released()
	return told && n.answered && n.slot == nil && n.Ready && !n.failed()
}

// leftOut says what a node waits for that a person gave up. The words must not
// change with the agent's answer: they are what it answers to.
func (n *node) leftOut() string {
	if n.failed() {
		return fmt.Sprintf("given up: %s; left out while it is %s (%s)", n.abandon, n.status.Step, n.status.Reason)
	}
	return fmt.Sprintf("given up: %s; left out until its agent reports again and the node is Ready", n.abandon)
}
