package plan

import "fmt"

// returned reports whether the agent of a node that a person abandoned is heard of
// again, so that the person's mark is to be taken away.
//
// No clock says so, as those of nodes may be wrong, and a status that was on its
// way when its node hung arrives late. To set abandoned, and to withdraw the
// release, raises the generation, and the agent has answered by that: it knows
// that its release and its slot are gone, and begins anew with both. A node that
// is not Ready, or failed, would only stop the others again.
func (n *node) returned() bool {
	return n.abandoned != nil && !n.released() && n.answered && n.slot == nil && n.Ready && !n.failed()
}

// leftOut says what an abandoned node waits for.
func (n *node) leftOut() string {
	if n.failed() {
		return fmt.Sprintf("abandoned: %s; left out while it is %s (%s)", n.abandoned, n.status.Step, n.cause.Reason)
	}
	return fmt.Sprintf("abandoned: %s; left out until its agent reports again and the node is Ready", n.abandoned)
}
