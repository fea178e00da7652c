package agent

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// nodeWrite is the agent's last write to its Node. A watch shows a write a moment later. Until it shows
// another version than it did before the write, the API server's answer counts.
type nodeWrite struct {
	before string // the resourceVersion that the watch showed
	answer *corev1.Node
}

// node returns the Node, or nil: what the watch shows, or what the agent has just written.
func (a *Agent) node() *corev1.Node {
	shown, w := one[*corev1.Node](a.nodes), a.nodeWrite
	if shown != nil && w.answer != nil && shown.ResourceVersion == w.before && shown.UID == w.answer.UID {
		return w.answer
	}
	a.nodeWrite = nodeWrite{}
	return shown
}

// writeNode calls write, which returns the API server's answer.
func (a *Agent) writeNode(write func() (*corev1.Node, error)) error {
	shown := one[*corev1.Node](a.nodes)
	answer, err := write()
	if err != nil || shown == nil {
		return err
	}
	_, _ = trim(answer) // as in the watch's cache
	a.nodeWrite = nodeWrite{before: shown.ResourceVersion, answer: answer}
	return nil
}

// leaseWrite is the agent's last change of a slot's holder. It counts as long as a nodeWrite does.
type leaseWrite struct {
	name   string
	before string // the resourceVersion that the watch showed
	holder fleet.Owner
}

// writeHolder calls write, which makes holder the slot's holder.
func (a *Agent) writeHolder(name string, holder fleet.Owner, write func() error) error {
	shown := a.watchedLease(name)
	if err := write(); err != nil || shown == nil {
		return err
	}
	a.leaseWrite = leaseWrite{name: name, before: shown.ResourceVersion, holder: holder}
	return nil
}

// addHolder puts the holder that the agent has just written into the slot, which the watch shows in that
// version of its Lease.
func (a *Agent) addHolder(s *fleet.Slot, version string) {
	w := a.leaseWrite
	switch {
	case w.name != s.Name:
		return
	case w.before != version:
		a.leaseWrite = leaseWrite{}
		return
	case s.ReservedFor == s.Holder && w.holder == (fleet.Owner{}):
		s.ReservedFor = fleet.Owner{} // freed with its reservation
	}
	s.Holder = w.holder
}

// goesOn reports whether what the action has changed is known already, so that the next step can begin.
func (a *Agent) goesOn(done machine.Do) bool {
	node := a.node()
	switch {
	case done == machine.DoDrain:
		return a.drained != nil && a.drained.Left == 0
	case done == machine.DoLook:
		return len(a.volumes.Attached) == 0
	case node == nil:
		return false
	}
	switch done {
	case machine.DoCordon:
		return nodeOf(node).Marked()
	case machine.DoUncordon:
		return !nodeOf(node).Marked()
	case machine.DoTake:
		return a.slot(node, orderedSlot(a.nodeUpgrade())).Held != ""
	case machine.DoFree:
		return a.slot(node, orderedSlot(a.nodeUpgrade())).Held == ""
	}
	return false
}
