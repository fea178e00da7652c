package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// afterRollback enters RolledBack if the guard has returned the node to its former version
// in this upgrade, and reports whether it has or is about to. It does so from any step:
// the State may be lost or older.
func afterRollback(s State, o Observation) (State, bool) {
	r := o.Host.Rollback
	if r == nil || r.Impossible || !s.concerns(r, o) || s.Step == v1alpha1.StepRolledBack {
		return s, false
	}
	if s.Step == v1alpha1.StepAborting {
		return s, rollingBack(o) // the attempt ends anyway, but not while the node changes
	}
	if rollingBack(o) {
		message := fmt.Sprintf("the guard returns the node to %s: %s", r.From, r.Message)
		return s.withReason(v1alpha1.ReasonRolledBack, message), true
	}
	if s.Upgrade.UID == "" {
		s = s.switchUpgrade(o)
	}
	s.KubeletLog, s.RetryAt = r.Log, time.Time{}
	message := fmt.Sprintf("%s did not become healthy, and the guard returned the node to %s: %s", r.To, r.From, r.Message)
	return s.enter(v1alpha1.StepRolledBack, o).withReason(v1alpha1.ReasonRolledBack, message), true
}

// guardEnded returns the end of a message about a node that does not become healthy: why the
// guard did not return it. It is empty while the guard may still do so.
func guardEnded(s State, o Observation) string {
	if r := o.Host.Rollback; r != nil && r.Impossible && s.concerns(r, o) {
		return "; the guard has ended: " + r.Message
	}
	return ""
}

// rollingBack reports whether the guard is about to return the node. A guard that was
// disarmed in the middle does not continue.
func rollingBack(o Observation) bool {
	return o.Host.Rollback != nil && !o.Host.Rollback.Finished && o.Host.Guarded
}

// concerns reports whether the rollback was of the upgrade that the State follows, or that
// is requested if the State was lost.
func (s State) concerns(r *Rollback, o Observation) bool {
	switch {
	case s.Upgrade.UID == "":
		return o.Spec.Upgrade != nil && o.Spec.Upgrade.UID == r.Upgrade
	case BetweenAttempts(s.Step) && !s.Follows(o.Spec):
		return false // another upgrade is about to begin
	}
	return s.Upgrade.UID == r.Upgrade
}

// rolledBack uncordons the node once it is Ready at its former version: it serves again,
// and keeps its slot so that no other node begins. The step ends when another upgrade is
// requested.
func rolledBack(s State, o Observation) (State, Action) {
	if superseded(s, o) {
		return abortSuperseded(s, o)
	}
	former := o.Host.Rollback == nil || o.Node.KubeletVersion == o.Host.Rollback.From
	if o.Node.Marked() && o.Node.Ready && kubeletReported(o) && former {
		return s, act(DoUncordon)
	}
	return s, Action{}
}

// guardWatches reports whether the guard may return the node to its former version. Before
// the activated image is merged it does nothing.
func guardWatches(o Observation) bool {
	return o.Host != nil && o.Host.Guarded && (o.Host.Merged == o.Host.Active || o.Host.Merged == "")
}

// confirm ends the guard's watch, so that the node is not rolled back once another one may
// begin. It fails if a rollback has begun.
func confirm(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Confirm]
	switch retry := work.FinishedAt.Add(confRetry); {
	case work.Running:
		return s, Action{}
	case work.endedInStep(s, key) && !work.OK:
		s = s.withReason(work.Reason, work.Message)
		if o.Now.Before(retry) {
			return s, wait(retry)
		}
	}
	return start(s, o, verb.Confirm, key)
}
