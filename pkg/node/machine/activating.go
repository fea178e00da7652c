package machine

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// lastCheck is the last step from which an attempt can abort. It asks the rules (window,
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
	case o.Host.At.Before(s.Since), o.Rules == nil:
		return s, Action{}
	case s.restarts():
		return lastCheckRestart(s, o)
	}
	if m, why := chooseMethod(o); s.softReboots() && m != s.Method {
		return rebootInstead(s, o, why) // the operating system has asked for a reboot meanwhile
	}
	if o.Spec.Type == v1alpha1.TypeReboot {
		return requestReboot(s.rebootsFrom(o), o)
	}
	return requestActivate(s, o)
}

// requestActivate requests the activation, the point of no return, unless starting it failed
// a moment ago.
func requestActivate(s State, o Observation) (State, Action) {
	next, a := withWork(s, o, verb.Activate, attemptKey(s, o))
	if a.Do == DoNothing {
		return next, a
	}
	if !s.restarts() {
		s = s.rebootsFrom(o)
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
	booted := !s.restarts() && s.booted(o)
	switch {
	case s.restarts() && flipped && o.Host.Merged == o.Host.Active:
		return s.enter(v1alpha1.StepRestarting, o), Action{}
	case booted && flipped:
		return s.enter(v1alpha1.StepVerifying, o), Action{}
	case booted:
		return s.notRebooting().enter(v1alpha1.StepLastCheck, o), Action{}
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
		return withWork(s, o, verb.Activate, key)
	case flipped && o.Host.Active != o.Host.Merged:
		// Another upgrade, or none, is requested by now; the symlink is from this one.
		return afterActivate(s, o)
	}
	return s.enter(v1alpha1.StepLastCheck, o), Action{}
}

// afterActivate merges the activated image, by a restart or a reboot.
func afterActivate(s State, o Observation) (State, Action) {
	if s.restarts() {
		return s.enter(v1alpha1.StepRestarting, o), workOf(verb.Restart, restartKey(s, o))
	}
	return requestReboot(s, o)
}
