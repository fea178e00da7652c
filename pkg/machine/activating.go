package machine

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// lastCheck is the last step from which an attempt can abort. It reads the gate (window,
// exclusions, release and slot) live, and the host again: the symlink may have changed
// while the node was drained.
func lastCheck(s State, o Observation) (State, Action) {
	if atTarget(o) {
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	switch {
	case !s.restarts() && !cordoned(o):
		return s.reenter(v1alpha1.StepCordoning, o), Action{}
	case o.Gate == nil, o.Host.At.Before(s.Since):
		return s, Action{}
	case s.restarts():
		return lastCheckRestart(s, o)
	}
	if o.Spec.Type == v1alpha1.TypeReboot {
		s.RebootedFrom = o.Host.BootID
		return s.enter(v1alpha1.StepRebooting, o), act(DoReboot)
	}
	return startActivate(s, o)
}

// startActivate starts the activation, the point of no return, unless starting it failed
// a moment ago.
func startActivate(s State, o Observation) (State, Action) {
	next, a := start(s, o, verb.Activate, attemptKey(s, o))
	if a.Do == DoNothing {
		return next, a
	}
	if !s.restarts() {
		s.RebootedFrom = o.Host.BootID
	}
	return s.enter(v1alpha1.StepActivating, o), a
}

// abandoned reports whether both the release and the slot were taken from the node, as
// when a person abandons it. Another node may be out of service in its place, so this one
// aborts too, even after the activation. A missing slot alone may be restored from the
// Node's annotation.
func abandoned(s State, o Observation) bool {
	return withdrawn(s, o) && o.Slot.Held == ""
}

// activating finishes an activation that was started. If none was, it goes back to the
// last check: the agent may have been down since.
func activating(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Activate]
	ended := work.endedInStep(s, key)
	flipped := o.Host.Active == expectedVersion(s, o)
	booted := !s.restarts() && o.Host.BootID != s.RebootedFrom
	switch {
	case s.restarts() && flipped && o.Host.Merged == o.Host.Active:
		return s.enter(v1alpha1.StepRestarting, o), Action{}
	case booted && flipped:
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case booted:
		s.RebootedFrom = ""
		return s.enter(v1alpha1.StepLastCheck, o), Action{}
	case work.Running:
		return s, Action{}
	case abandoned(s, o):
		return abortWithdrawn(s, o)
	case ended && work.OK:
		return afterActivate(s, o)
	case ended && flipped:
		return fail(s, o, work.Reason, work.Message)
	case ended:
		return abortAndRetry(s, o, work.Reason, work.Message)
	case s.Follows(o.Spec) && flipped:
		return start(s, o, verb.Activate, key)
	case flipped:
		// Another upgrade is requested by now; the symlink is from this one.
		return afterActivate(s, o)
	}
	return s.enter(v1alpha1.StepLastCheck, o), Action{}
}

// afterActivate merges the activated image, by a restart or a reboot.
func afterActivate(s State, o Observation) (State, Action) {
	if s.restarts() {
		return s.enter(v1alpha1.StepRestarting, o), run(verb.Restart, restartKey(s, o))
	}
	return s.enter(v1alpha1.StepRebooting, o), act(DoReboot)
}

// rebooting requests the reboot, and once more after RebootWithin: the call may succeed
// without effect.
func rebooting(s State, o Observation) (State, Action) {
	again, limit := deadline(s, o, RebootWithin), deadline(s, o, 2*RebootWithin)
	ask := o.RebootAskedAt.Before(s.Since) || !o.Now.Before(again) && o.RebootAskedAt.Before(again)
	refused := ""
	if o.RebootProblem != "" {
		s, refused = s.withReason(v1alpha1.ReasonRebootFailed, o.RebootProblem), ": "+o.RebootProblem
	}
	switch {
	case o.Host.BootID != s.RebootedFrom:
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case ask && abandoned(s, o):
		return abortWithdrawn(s, o)
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonRebootFailed, fmt.Sprintf("the node has not rebooted %s after the request%s", 2*RebootWithin, refused))
	case ask:
		return s, Action{Do: DoReboot, Wake: limit}
	case o.Now.Before(again):
		return s, wait(again)
	}
	return s, wait(limit)
}
