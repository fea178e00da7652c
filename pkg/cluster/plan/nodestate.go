package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// nodeState is the state of a node with regard to the target.
type nodeState struct {
	concerned   bool            // the target may change it, now or later
	open        bool            // it is a candidate: it has not begun and is not done
	upToDate    bool            // every part runs the version
	kubeadmDone bool            // pass 1 is over for it
	staged      bool            // it has the image
	prepared    bool            // it has everything that the upgrade needs
	onHold      bool            // it has the hold label
	step        error           // why Kubernetes does not allow its step
	method      v1alpha1.Method // how it is expected to merge the image
}

// stateOf returns the node's state. t may be nil.
func (t *target) stateOf(n *node) nodeState {
	if t == nil {
		return nodeState{concerned: t.concerns(n)}
	}
	s := nodeState{
		concerned: t.concerns(n), onHold: HoldLabelGate(n.Labels).Holds(),
		kubeadmDone: t.kubeadmDone(n), upToDate: !t.stalled() && t.upToDate(n),
	}
	s.open = s.concerned && !s.upToDate && !n.busy() && (!n.released() || t.isFor(n.spec.Upgrade))
	s.staged = t.staged(n)
	pulled := !n.ControlPlane || s.kubeadmDone || *n.runs.pulled == t.to && known(t.to)
	s.prepared = s.staged && pulled
	if !s.upToDate {
		s.step, s.method = t.step(n), t.methodOf(n)
	}
	return s
}

// staged reports whether the node has the image, or needs none.
func (t *target) staged(n *node) bool {
	return t.reboot && !n.silent() || t.kubeletDone(n) || *n.runs.staged == t.to && known(t.to)
}

// kubeletDone reports whether the kubelet runs the version or a later one. A Reboot has no
// version.
func (t *target) kubeletDone(n *node) bool { return !t.reboot && atLeast(*n.runs.kubelet, t.to) }

// kubeadmDone reports whether pass 1 is over for this control-plane node.
func (t *target) kubeadmDone(n *node) bool {
	return t.reboot || atLeast(*n.runs.kubeadm, t.to) || t.kubeletDone(n) && atLeast(*n.runs.controlPlane, t.to)
}

// upToDate reports whether every part of the node runs the version or a later one;
// for a Reboot, whether none is due.
func (t *target) upToDate(n *node) bool {
	if t.reboot {
		return !t.rebootDue(n)
	}
	return t.kubeletDone(n) && (!n.ControlPlane || t.kubeadmDone(n))
}

// step returns why Kubernetes does not allow this node's step: a kubelet must not skip
// a minor.
func (t *target) step(n *node) error {
	switch {
	case t.reboot && n.nextBootDiffers():
		return fmt.Errorf("%s runs, and the next boot would bring %s: a Reboot changes no version; ask for an upgrade, or point the symlink back", n.Kubelet, n.status.Versions.NextBoot)
	case t.reboot:
		return nil
	case n.runs.problem != nil:
		return n.runs.problem
	}
	return version.CheckStep(*n.runs.kubelet, t.to)
}

// methodOf returns how the node is expected to merge the image. A node that was found to need
// a reboot in this upgrade reboots.
func (t *target) methodOf(n *node) v1alpha1.Method {
	if t.isFor(n.status.Upgrade) && n.status.Method == v1alpha1.MethodReboot {
		return v1alpha1.MethodReboot
	}
	h := fleet.MethodHost{RebootRequired: n.status.Reboot.Required && !n.nextBootDiffers(), RebootReason: n.status.Reboot.Reason}
	if n.facts != nil {
		h.RefreshBlockers, h.SoftRebootProblem = n.facts.RefreshBlockers, n.facts.SoftRebootProblem
	}
	expected, _ := fleet.MethodOf(t.strategy.Method, t.typeFor(n), n.Kubelet, t.Spec.Version, h)
	return expected
}
