package agent

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// nodeWrite is the agent's last write to its Node. A watch shows it a moment later: until the watch shows
// another version than before, the agent goes on with the API server's answer.
type nodeWrite struct {
	before string // the resourceVersion that the watch showed
	node   *corev1.Node
}

// orShown returns the Node as it was written, or what the watch shows.
func (w nodeWrite) orShown(shown *corev1.Node) *corev1.Node {
	if shown != nil && w.node != nil && shown.ResourceVersion == w.before && shown.UID == w.node.UID {
		return w.node
	}
	return shown
}

// noteNode notes the API server's answer to a write of the Node.
func (a *Agent) noteNode(written *corev1.Node) {
	_, _ = trim(written) // as in the watch's cache
	a.nodeWrite = nodeWrite{node: written}
	if shown := one[*corev1.Node](a.nodes); shown != nil {
		a.nodeWrite.before = shown.ResourceVersion
	}
}

// leaseWrite is the agent's last change of a slot's holder, likewise.
type leaseWrite struct {
	name   string
	before string
	holder fleet.Owner
}

// showIn changes what the watch shows of a slot, in that version, to what was written.
func (w leaseWrite) showIn(s *fleet.Slot, version string) {
	if w.name != s.Name || w.before != version {
		return
	}
	if s.ReservedFor == s.Holder && w.holder == (fleet.Owner{}) {
		s.ReservedFor = fleet.Owner{} // freed with its reservation
	}
	s.Holder = w.holder
}

// noteHolder notes who holds a slot, if the Lease was written, and returns the error of that.
func (a *Agent) noteHolder(name string, holder fleet.Owner, err error) error {
	if err != nil {
		return err
	}
	a.leaseWrite = leaseWrite{}
	if lease := a.watchedLease(name); lease != nil {
		a.leaseWrite = leaseWrite{name: name, before: lease.ResourceVersion, holder: holder}
	}
	return nil
}

// goesOn reports whether the next step can begin before a watch shows what the action has changed.
func (a *Agent) goesOn(done machine.Do) bool {
	switch done {
	case machine.DoTake, machine.DoFree:
		lease := a.watchedLease(a.leaseWrite.name)
		return lease != nil && lease.ResourceVersion == a.leaseWrite.before
	case machine.DoCordon, machine.DoUncordon:
		return a.nodeWrite.node != nil && a.node() == a.nodeWrite.node
	case machine.DoDrain:
		return a.drained != nil && a.drained.Left == 0
	case machine.DoLook:
		return len(a.volumes.Attached) == 0
	}
	return false
}
