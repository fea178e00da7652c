package sim

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// checkAbandonment checks a change of the field abandoned of a NodeUpgrade.
func (w *world) checkAbandonment(by, name string, before, after tree) {
	n := w.node(name)
	was, is := before["abandoned"] != nil, after["abandoned"] != nil
	if n == nil || was == is {
		return
	}
	w.note("%s: %s is abandoned: %t", by, name, is)
	if is {
		w.since["abandoned "+n.uid] = w.now()
		return
	}
	if by == "admin" {
		return
	}
	status, spec := inner(before, "status"), inner(before, "spec")
	switch step := v1alpha1.Step(text(status, "step")); {
	case step.Info().Phase == v1alpha1.PhaseStopped:
		w.broken("abandon", "%s takes back %s, which is in step %s", by, name, step)
	case status["observedGeneration"] != metadata(before)["generation"]:
		w.broken("abandon", "%s takes back %s, whose agent has not reported since", by, name)
	case v1alpha1.Release(text(spec, "release")).Granted():
		w.broken("abandon", "%s takes back %s, which is released", by, name)
	}
}

// wasAbandoned reports whether a node whose slot was freed because a person had abandoned it
// has reported since, in the middle of its attempt or that it has failed: it gets the slot back.
func (w *world) wasAbandoned(owner clusterstate.Owner) bool {
	nu := w.nodeUpgrade(owner.Node)
	abandoned := w.since["abandoned "+owner.UID]
	if nu == nil || abandoned.IsZero() || w.since["freed "+owner.UID].Before(abandoned) {
		return false
	}
	phase := nu.Status.Step.Info().Phase
	return phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted || phase == v1alpha1.PhaseStopped
}

// returnsTo reports whether a slot may go to a node that was abandoned and is not, from a holder
// whose Node is gone, though its host may still work, or which was abandoned too.
func (w *world) returnsTo(owner, holder clusterstate.Owner) bool {
	object := w.api.objects[key{Resource: "nodes", Name: holder.Node}]
	return w.wasAbandoned(owner) && (w.abandoned(holder) || object == nil || text(metadata(object.tree), "uid") != holder.UID)
}

// givenUp reports whether a person has abandoned the node, or had since it took its slot: that
// attempt may go on after the slot was freed.
func (w *world) givenUp(n *node) bool {
	abandoned, ever := w.since["abandoned "+n.uid]
	return w.abandoned(n.owner()) || ever && !abandoned.Before(w.since["took "+n.uid]) // both may be at one instant
}

// checkAbandonedReboot checks that a node does not reboot which was abandoned in this attempt, and
// whose slot was freed, before its agent's reconcile began: another node may have the slot. That
// also counts if it is not abandoned any more.
func (w *world) checkAbandonedReboot(a *agentProgram) {
	n := a.node
	abandoned, freed := w.since["abandoned "+n.uid], w.since["freed "+n.uid]
	if w.givenUp(n) && w.held(n) == "" && freed.After(abandoned) && freed.Before(a.ranAt) && a.reachable() {
		w.broken("abandon", "%s reboots, was abandoned, and its slot was freed", n.name)
	}
}
