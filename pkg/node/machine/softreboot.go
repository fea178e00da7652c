package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// softReboots reports whether this attempt merges the image by a soft reboot.
func (s State) softReboots() bool { return s.Method == v1alpha1.MethodSoftReboot }

// keepsBoot reports whether the new kubelet starts in the boot in which the former one ran:
// until it reports, the Node shows what the former one wrote.
func (s State) keepsBoot(o Observation) bool {
	return s.restarts() || s.softReboots() && o.Host.BootID == s.RebootedFrom
}

// forbidSoftReboot switches to a reboot if the host allows no soft reboot any more, as when the
// operating system has asked for a reboot since the last check.
func (s State) forbidSoftReboot(o Observation) State {
	if m, why := chooseMethod(o); s.softReboots() && m != s.Method {
		s.Method, s.MethodMessage = v1alpha1.MethodReboot, why
	}
	return s
}

// giveUpSoftReboot switches to a reboot if the soft reboot does not happen, or has not merged
// the active image.
func (s State) giveUpSoftReboot(o Observation) State {
	switch {
	case !s.softReboots() || o.Host.BootID != s.RebootedFrom:
		return s
	case s.booted(o) && o.Host.Merged != o.Host.Active:
		return s.rebootInsteadOfSoft(o, fmt.Sprintf("the soft reboot did not merge %s", o.Host.Active))
	case !s.booted(o) && !o.Now.Before(deadline(s, o, RebootWithin)):
		return s.rebootInsteadOfSoft(o, fmt.Sprintf("the node has not soft-rebooted %s after the request", RebootWithin))
	}
	return s
}

// rebootInsteadOfSoft switches this attempt from SoftReboot to Reboot. The node is drained.
func (s State) rebootInsteadOfSoft(o Observation, why string) State {
	s.Method, s.MethodMessage = v1alpha1.MethodReboot, why
	return s.rebootsFrom(o).withReason(v1alpha1.ReasonRebootFailed, why)
}

// chooseMethod chooses how the node merges the image.
func chooseMethod(o Observation) (m v1alpha1.Method, why string) {
	h := fleet.MethodHost{
		RefreshBlockers: o.Host.RefreshBlockers, SoftRebootProblem: o.Host.SoftRebootProblem,
		RebootRequired: o.Host.RebootRequired, RebootReason: o.Host.RebootReason,
	}
	return fleet.MethodOf(o.Spec.Method, o.Spec.Type, o.Node.KubeletVersion, o.Spec.Version, h)
}
