package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// checkEverManaged checks that nothing is changed on a node that was never managed.
func (w *world) checkEverManaged(n *node, what string) {
	if !n.managedOnce {
		w.broken("managed", "%s %s, and was never managed", n.name, what)
	}
}

// checkManaged checks that an agent changes its node only while the node is managed, as far as
// the agent was told, or to end an attempt.
func (w *world) checkManaged(a *agentProgram, what string) {
	w.checkEverManaged(a.node, what)
	if nu := a.knows(); nu != nil && !nu.Spec.Managed && machine.BetweenAttempts(a.steps.State().Step) {
		w.broken("managed", "%s %s in step %s, and is not managed any more", a.node.name, what, a.steps.State().Step)
	}
}

// knows returns the NodeUpgrade as the API server has told the agent, which may be an old one:
// what is removed too early is installed again, and before an attempt begins its gate reads
// live.
func (a *agentProgram) knows() *v1alpha1.NodeUpgrade {
	for _, v := range a.views {
		if v.resource != "nodeupgrades" {
			continue
		}
		if told := v.told(a.node.name); told != nil {
			if nu := told.object(v.resource).(*v1alpha1.NodeUpgrade); nu.OwnedBy(types.UID(a.node.uid)) {
				return nu
			}
		}
	}
	return nil
}

// checkGivenBack checks a node whose agent is about to remove what is on it.
func (w *world) checkGivenBack(a *agentProgram) {
	n := a.node
	w.checkPolicy(a, "is given back")
	if nu := a.knows(); nu == nil || nu.Spec.Managed {
		w.broken("managed", "%s is given back, and is managed", n.name)
	}
	if v := n.busy(); v != "" {
		w.broken("managed", "%s is given back while %s runs", n.name, v)
	}
	w.checkLeft(a, "is given back")
	slot := w.held(n)
	// An agent does not see at once what a person has changed in a Lease, nor has it taken a slot that a person gave it.
	seen := slot != "" && w.edited[slot].names != n.owner() && w.now().Sub(w.since["lease "+slot]) > 5*time.Second
	if seen || w.outOfService(n) {
		w.broken("managed", "%s is given back in the middle of an attempt: it holds %q", n.name, slot)
	}
}
