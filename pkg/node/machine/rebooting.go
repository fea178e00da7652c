package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rebootsFrom returns s with the boot that a reboot is to end.
func (s State) rebootsFrom(o Observation) State {
	s.RebootedFrom, s.FromSoftReboots = o.Host.BootID, o.Host.SoftReboots
	return s
}

// notRebooting returns s with no boot that a reboot is to end.
func (s State) notRebooting() State {
	s.RebootedFrom, s.FromSoftReboots = "", 0
	return s
}

// booted reports whether the node has rebooted since rebootsFrom, which a soft reboot does
// only by method SoftReboot. It is also true if no reboot is to happen.
func (s State) booted(o Observation) bool {
	return o.Host.BootID != s.RebootedFrom || s.softReboots() && o.Host.SoftReboots != s.FromSoftReboots
}

// requestReboot enters Rebooting and requests the reboot.
func requestReboot(s State, o Observation) (State, Action) {
	s = s.forbidSoftReboot(o)
	return s.enter(v1alpha1.StepRebooting, o), act(s.doReboot())
}

func (s State) doReboot() Do {
	if s.softReboots() {
		return DoSoftReboot
	}
	return DoReboot
}

// rebooting requests the reboot, and once more after RebootWithin: the call may succeed
// without effect.
func rebooting(s State, o Observation) (State, Action) {
	again, limit := deadline(s, o, RebootWithin), deadline(s, o, 2*RebootWithin)
	s = s.giveUpSoftReboot(o)
	ask := o.RebootAskedAt.Before(s.Since) || !o.Now.Before(again) && o.RebootAskedAt.Before(again)
	refused := ""
	if o.RebootProblem != "" {
		s, refused = s.withReason(v1alpha1.ReasonRebootFailed, o.RebootProblem), ": "+o.RebootProblem
	}
	switch {
	case s.booted(o):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case ask && abandoned(s, o):
		return abortWithdrawn(s, o)
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonRebootFailed, fmt.Sprintf("the node has not rebooted %s after the request%s", 2*RebootWithin, refused))
	case ask:
		s = s.forbidSoftReboot(o)
		return s, Action{Do: s.doReboot(), Wake: limit}
	case o.Now.Before(again):
		return s, wait(again)
	}
	return s, wait(limit)
}
