package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// steps maps each step to its function. All other steps are betweenAttempts.
var steps = map[v1alpha1.Step]func(State, Observation) (State, Action){
	v1alpha1.StepKubeadmAhead: kubeadmAhead,
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

// Next returns the next State and the Action to do. The State must be persisted before
// the Action is done: an agent that restarts would not recognise what was done otherwise.
// Only a harmless verb may run without. A State without an Action may be persisted later.
//
// The caller observes the node and calls Next again when the State changed or the Action
// was done.
func Next(s State, o Observation) (State, Action) {
	s, a := next(s, o)
	if a.Do == DoNothing && o.Node.OurCordon && !o.Node.Unschedulable {
		a.Do = DoDisown // another client has removed our cordon: the next one is not ours
	}
	return s, a
}

func next(s State, o Observation) (State, Action) {
	s = s.clampTimes(o.Now)
	if s, runs := verbRunning(s, o); runs {
		return s, Action{}
	}
	if o.Host == nil {
		return hostUnreachable(s, o)
	}
	if s.Reason == v1alpha1.ReasonHostUnreachable {
		s = s.withReason("", "")
	}
	if s, rolledBack := afterRollback(s, o); rolledBack {
		return s, Action{}
	}
	if step, ok := steps[s.Step]; ok {
		return step(s, o)
	}
	return betweenAttempts(s, o)
}

// clampTimes corrects a State that was written while the clock was ahead: a step that
// begins in the future begins now, and no pause is longer than lastRetry.
func (s State) clampTimes(now time.Time) State {
	if s.Since.After(now) {
		s.Since = now
	}
	if latest := now.Add(lastRetry); s.RetryAt.After(latest) {
		s.RetryAt = latest
	}
	return s
}
