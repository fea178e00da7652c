package plan

import "fmt"

// returned reports whether the agent of an abandoned node reports again, so that the
// field abandoned is to be removed.
//
// It compares generations, not times: clocks of nodes may be wrong, and a status that
// was sent before its node hung may arrive late. Setting abandoned and withdrawing the
// release raise the generation; an agent that has observed it knows that its release
// and its slot are gone, and starts again. A node that is not Ready, or failed, would
// only stop the others again.
func (n *node) returned() bool {
	return n.abandoned != nil && !n.released() && n.answered && n.lease == nil && n.Ready && !n.failed()
}

// abandonedMessage returns why, and until when, an abandoned node is left out.
func (n *node) abandonedMessage() string {
	if n.failed() {
		return fmt.Sprintf("abandoned: %s; left out while it is %s (%s)", n.abandoned, n.status.Step, n.cause.Reason)
	}
	return fmt.Sprintf("abandoned: %s; left out until its agent reports again and the node is Ready", n.abandoned)
}
