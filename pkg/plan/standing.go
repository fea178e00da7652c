package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/method"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// standing is where a node stands on the way to what is asked for.
type standing struct {
	concerned   bool  // the upgrade is to do something about it, now or later
	open        bool  // there is a choice about it: it has not begun, and is not done
	upToDate    bool  // every part runs what is asked for
	kubeadmDone bool  // pass 1 is over for it, if it is a control plane
	staged      bool  // it needs no more bytes of the image
	prepared    bool  // all that the upgrade needs lies on it
	onHold      bool  // a person has labelled it so
	restarts    bool  // it is expected to go without drain and boot
	step        error // why Kubernetes does not allow its step
}

// stand finds out where the node stands. Without a target nothing is asked for.
func (t *target) stand(n *node) standing {
	if t == nil {
		return standing{concerned: t.concerns(n)}
	}
	s := standing{
		concerned: t.concerns(n), onHold: HoldGate(n.Labels).Holds(),
		kubeadmDone: t.kubeadmDone(n), upToDate: !t.stalled() && t.upToDate(n),
	}
	s.open = s.concerned && !s.upToDate && !n.busy() && (!n.released() || t.isFor(n.spec.Upgrade))
	s.staged = t.reboot || t.kubeletDone(n) || *n.runs.staged == t.to && known(t.to)
	pulled := !n.ControlPlane || s.kubeadmDone || *n.runs.pulled == t.to && known(t.to)
	s.prepared = s.staged && pulled
	if !s.upToDate {
		s.step, s.restarts = t.step(n), t.restarts(n)
	}
	return s
}

// kubeletDone reports whether the kubelet runs the version or a later one.
func (t *target) kubeletDone(n *node) bool { return atLeast(*n.runs.kubelet, t.to) }

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

// step returns why Kubernetes does not allow this node's step. Its kubelet may
// follow the apiservers from one minor to the next only.
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

// restarts reports whether the node is expected to go without drain and boot. A node
// that was found to need a reboot in this upgrade does.
func (t *target) restarts(n *node) bool {
	if t.strategy.Method != v1alpha1.MethodRestart || t.isFor(n.status.Upgrade) && n.status.Method == v1alpha1.MethodReboot {
		return false
	}
	var blockers []string
	if n.facts != nil {
		blockers = n.facts.RefreshBlockers
	}
	expected, _ := method.Of(t.strategy.Method, t.typeFor(n), n.Kubelet, t.Spec.Version, blockers)
	return expected == v1alpha1.MethodRestart
}
