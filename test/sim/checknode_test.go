package sim

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// checkNode checks promise 5 on a change of a Node.
func (w *world) checkNode(by string, k key, before, after *stored) {
	if before == nil || after == nil {
		w.note("%s: Node %s was created or deleted", by, k.Name)
		return
	}
	held := func(s *stored) bool { return inner(metadata(s.tree), "labels")[v1alpha1.HoldLabel] != nil }
	if held(after) && !held(before) {
		w.since["hold "+text(metadata(after.tree), "uid")] = w.now()
	}
	mark := v1alpha1.CordonAnnotation
	marks := func(s *stored) (unschedulable bool, ours, slot string) {
		annotations := inner(metadata(s.tree), "annotations")
		return inner(s.tree, "spec")["unschedulable"] == true, text(annotations, mark), text(annotations, v1alpha1.SlotAnnotation)
	}
	wasCordoned, wasOurs, wasSlot := marks(before)
	isCordoned, isOurs, isSlot := marks(after)
	if wasCordoned == isCordoned && wasOurs == isOurs && wasSlot == isSlot {
		return
	}
	w.note("%s: Node %s unschedulable=%t ours=%q slot=%q", by, k.Name, isCordoned, isOurs, isSlot)
	if by == "admin" {
		return
	}
	if wasCordoned && wasOurs == "" && isOurs != "" {
		w.broken("promise 5", "%s takes the cordon of %s for its own", by, k.Name)
	}
	if w.foreign[text(metadata(after.tree), "uid")] && wasCordoned && !isCordoned {
		w.broken("promise 5", "%s removes the cordon of %s, which a person made", by, k.Name)
	}
}

// checkUncordon checks a node that is about to be put back into service.
func (w *world) checkUncordon(a *agentProgram) {
	n := a.node
	step := a.steps.State()
	w.checkWhole(n, step)
	if v := n.busy(); v != "" {
		w.broken("verified", "%s is uncordoned while %s runs", n.name, v)
	}
	if nu := a.knows(); step.Step == v1alpha1.StepUncordoning && nu != nil && nu.Spec.HoldAfter && step.Follows(nu.Spec) && !w.isOnHold(n) {
		w.broken("hold", "%s was taken back alone, and is uncordoned without the hold label", n.name)
	}
	abortedLong := step.Step == v1alpha1.StepAborting && n.now().Sub(step.Since) >= 10*time.Minute
	known := w.now().Sub(n.changedAt) > grace || n.verified != n.merged // what upgrades do, agents know at once
	if w.now().Sub(w.apiDownUntil) < grace {
		known = false // the node controller has not noticed a kubelet that died meanwhile
	}
	if !n.healthy() && !abortedLong && known {
		w.broken("verified", "%s is uncordoned in step %s: ready %t, kubelet %q, merged %q", n.name, step.Step, n.ready, n.kubelet, n.merged)
	}
}

// checkWatchEnds checks that an agent ends its guard's watch only when it is about to free the slot.
func (w *world) checkWatchEnds(n *node) {
	a := w.agents[n.uid]
	if a == nil || !n.armed || !w.holdsSlot(n.owner()) {
		return
	}
	if step := a.steps.State().Step; step == v1alpha1.StepSettling || step == v1alpha1.StepUncordoning || step == v1alpha1.StepObserving {
		w.broken("watch", "%s ends its guard's watch in step %s, with its slot", n.name, step)
	}
}

// settleSlack is how long before a node leaves Settling or Observing its kubelet may have been asked.
const settleSlack = 15 * time.Second

// checkSettled checks that a node leaves Settling and Observing with a kubelet. Where Kubernetes comes from packages, the host
// cannot tell: another program may be the kubelet, as in k3s.
func (w *world) checkSettled(a *agentProgram, before machine.State) {
	n, after := a.node, a.steps.State().Step
	settled := before.Step == v1alpha1.StepSettling && (after == v1alpha1.StepUncordoning || after == v1alpha1.StepObserving || after == v1alpha1.StepUnlocking)
	observed := before.Step == v1alpha1.StepObserving && after == v1alpha1.StepUnlocking && w.holdsSlot(n.owner())
	if !settled && !observed {
		return
	}
	if observed || after == v1alpha1.StepUnlocking && w.holdsSlot(n.owner()) {
		w.checkKeptOut(n, before)
	}
	if dead := w.now().Sub(n.diedAt); n.on && !n.packages && n.kubelet == "" && !n.diedAt.IsZero() && dead > settleSlack {
		w.broken("verified", "%s leaves %s for %s, and its kubelet has been dead for %s", n.name, before.Step, after, dead)
	}
}
