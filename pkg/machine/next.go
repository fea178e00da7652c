package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// steps are the functions that know each step.
var steps = map[v1alpha1.Step]func(State, Observation) (State, Action){
	v1alpha1.StepLocking:      locking,
	v1alpha1.StepSnapshotting: snapshotting,
	v1alpha1.StepKubeadm:      kubeadm,
	v1alpha1.StepChecking:     checking,
	v1alpha1.StepCordoning:    cordoning,
	v1alpha1.StepDraining:     draining,
	v1alpha1.StepLastCheck:    lastCheck,
	v1alpha1.StepActivating:   activating,
	v1alpha1.StepRebooting:    rebooting,
	v1alpha1.StepRestarting:   restarting,
	v1alpha1.StepVerifying:    verifying,
	v1alpha1.StepSettling:     settling,
	v1alpha1.StepUncordoning:  uncordoning,
	v1alpha1.StepObserving:    observing,
	v1alpha1.StepUnlocking:    unlocking,
	v1alpha1.StepAborting:     aborting,
	v1alpha1.StepFailed:       failed,
	v1alpha1.StepRolledBack:   rolledBack,
}

// Next says what the State becomes and what to do. The State must be persisted
// before the Action is done, or a later look would not recognise what was done;
// a verb that is harmless alone may go on without. A State that comes with no
// Action may be persisted later.
//
// When the State changed, or the Action did something, look and ask again.
func Next(s State, o Observation) (State, Action) {
	s = s.notAhead(o.Now)
	if s, runs := atWork(s, o); runs {
		return s, Action{}
	}
	if o.Host == nil {
		return unseen(s, o)
	}
	if s.Reason == v1alpha1.ReasonHostUnreachable {
		s = s.say("", "")
	}
	if step, ok := steps[s.Step]; ok {
		return step(s, o)
	}
	return quiet(s, o)
}

// notAhead corrects a State that was written by a clock that was ahead: what began
// later than now begins now, and a pause is no longer than the longest.
func (s State) notAhead(now time.Time) State {
	if s.Since.After(now) {
		s.Since = now
	}
	if latest := now.Add(lastRetry); s.RetryAt.After(latest) {
		s.RetryAt = latest
	}
	return s
}
