package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
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
	return s.enter(v1alpha1.StepRebooting, o), actionOf(s.doReboot())
}

func (s State) doReboot() Do {
	if s.softReboots() {
		return DoSoftReboot
	}
	return DoReboot
}

// rebooting requests the reboot, and once more after RebootWithin: the call may succeed
// without effect. Only then it fails: time in which nothing was requested, because the host or
// the API server did not answer, does not count.
func rebooting(s State, o Observation) (State, Action) {
	again := askRebootAgainAt(s, o)
	limit := latest(again, o.RebootAskedAt).Add(RebootWithin)
	if !abandoned(s, o) {
		s = s.giveUpSoftReboot(o) // no other reboot of an abandoned node is requested
	}
	ask := o.RebootAskedAt.Before(s.Since) || o.RebootAskedAt.After(o.Now) || !o.Now.Before(again) && o.RebootAskedAt.Before(again)
	refused := ""
	if o.RebootProblem != "" {
		s, refused = s.withReason(cmp.Or(o.RebootReason, v1alpha1.ReasonRebootFailed), o.RebootProblem), ": "+o.RebootProblem
	}
	switch {
	case s.booted(o):
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case ask && abandoned(s, o):
		return abortWithdrawn(s, o)
	case ask && o.RebootTriedAt.IsZero() && o.Host.Active == o.Host.Merged && !o.Now.Before(s.Since.Add(RebootWithin)):
		// Nothing is activated, and no reboot has begun: no agent has run since the last check, or for as long.
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case ask && o.Host.Active == verb.NoKubernetes:
		return fail(s, o, v1alpha1.ReasonRebootFailed,
			fmt.Sprintf("the image of %s has gone from the disk since it was activated: a reboot would leave the node without Kubernetes", expectedVersion(s, o)))
	case !o.Now.Before(limit) && (!o.RebootAskedAt.Before(again) || o.RebootProblem != ""):
		return fail(s, o, v1alpha1.ReasonRebootFailed, fmt.Sprintf("the node has not rebooted %s after the request%s", 2*RebootWithin, refused))
	case ask:
		s = s.forbidSoftReboot(o)
		return s, Action{Do: s.doReboot(), Wake: limit}
	case o.Now.Before(again):
		return s, wakeAt(again)
	}
	return s, wakeAt(limit)
}

// shutsDown reports whether the reboot has begun, and waits for units to stop. That may take longer than RebootWithin,
// as where a unit ends slowly or a file system of the network is not there: it is not requested once more meanwhile,
// and has not failed. The host cannot be read then, as it starts no unit.
func (s State) shutsDown(o Observation) bool {
	return s.Step == v1alpha1.StepRebooting && !o.StoppingSince.IsZero()
}

// rebootsUntil returns until when a reboot that was requested may take the host away: its system bus may stop before the
// agent has seen that it shuts down. Zero: none was requested in this step.
func (s State) rebootsUntil(o Observation) time.Time {
	if s.Step != v1alpha1.StepRebooting || o.RebootAskedAt.Before(s.Since) || o.RebootAskedAt.After(o.Now) {
		return time.Time{}
	}
	return o.RebootAskedAt.Add(RebootWithin)
}

// slowShutdown waits for the end of the shutdown. It says so once that takes longer than usual: each node's status would be
// written once more for each reboot.
func slowShutdown(s State, o Observation) (State, Action) {
	if told := o.StoppingSince.Add(ShutdownWithin); o.Now.Before(told) {
		return s, wakeAt(told)
	}
	return s.withReason("", "the node is shutting down since "+clusterstate.FormatTime(o.StoppingSince)), Action{}
}

// askRebootAgainAt returns when the reboot is requested once more.
func askRebootAgainAt(s State, o Observation) time.Time {
	first := o.RebootTriedAt
	if first.Before(s.Since) || first.After(o.Now) {
		first = o.Now
	}
	return first.Add(RebootWithin)
}

// asksForReboot reports whether a Reboot is to reboot the node, before it has: it is in the boot that the order names, or
// its operating system asks if the order names none.
func asksForReboot(o Observation) bool {
	if from := o.Spec.FromBootID; from != "" {
		return o.Host.BootID == from
	}
	return o.Host.RebootRequired
}

// rebooted reports whether this upgrade, a Reboot, has rebooted the node. It does so
// once: an operating system that keeps requiring a reboot would otherwise get one for ever.
func rebooted(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) &&
		s.RebootedFrom != "" && o.Host.BootID != s.RebootedFrom
}

// rebootStillRequired reports whether the operating system still requires a reboot after
// this upgrade's own. One that it did not ask for shows nothing.
func rebootStillRequired(s State, o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && s.Follows(o.Spec) && o.Spec.FromBootID == "" && o.Host.RebootRequired
}

// wouldActivate reports whether a Reboot would change the Kubernetes version, which it
// must not.
func wouldActivate(o Observation) bool {
	return o.Spec.Type == v1alpha1.TypeReboot && o.Host != nil &&
		o.Host.Active != "" && o.Host.Merged != "" && o.Host.Active != o.Host.Merged
}

func nextBootMessage(o Observation) string {
	return fmt.Sprintf("%s runs, and the next boot would bring %s: an upgrade of type Reboot must not change the version; request an upgrade to that version, or point /etc/extensions/kubernetes.raw back",
		o.Host.Merged, o.Host.Active)
}

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
	case s.booted(o) && o.Host.Merged != o.Host.Active && !slices.Contains(o.Host.Installed, o.Host.Active):
		return s // a reboot would merge nothing: the guard returns the node
	case s.booted(o) && o.Host.Merged != o.Host.Active:
		return s.rebootInsteadOfSoft(o, fmt.Sprintf("the soft reboot did not merge %s", o.Host.Active))
	case !s.booted(o) && !o.Now.Before(askRebootAgainAt(s, o)):
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
	h := clusterstate.MethodHost{
		RefreshBlockers: o.Host.Node.RefreshBlockers, SoftRebootBlocker: o.Host.Node.SoftRebootBlocker.Text(),
		RebootRequired: o.Host.RebootRequired, RebootReason: o.Host.RebootReason,
	}
	return clusterstate.MethodOf(o.Spec.Method, o.Spec.Type, o.Node.KubeletVersion, o.Spec.Version, h)
}
