package machine

import (
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// rehearsed returns what the rehearsal of the boot that the attempt brings has found. Nil: it was not rehearsed.
func rehearsed(s State, o Observation) *v1alpha1.RehearsalOutcome {
	rehearsal := o.Host.Node.Rehearsed(expectedVersion(s, o))
	if rehearsal == nil {
		return nil
	}
	return &v1alpha1.RehearsalOutcome{Result: rehearsal.Result()}
}

// compareBoot adds what the boot did, once the node is back or has failed. A node that comes back later was down all
// the same.
func (s State) compareBoot(before v1alpha1.Step, o Observation) State {
	if s.Rehearsal == nil || s.Rehearsal.Boot != "" || s.Step == before {
		return s
	}
	outcome := v1alpha1.RehearsalOutcome{Result: s.Rehearsal.Result}
	switch {
	case s.Step == v1alpha1.StepSettling && before == v1alpha1.StepVerifying:
		outcome.Boot = v1alpha1.BootUp
		if tried := o.Host.GuardTried; tried != nil && tried.Upgrade == s.Upgrade.UID {
			outcome.Boot, outcome.Message = v1alpha1.BootAssisted, tried.String()
		}
	case s.Step == v1alpha1.StepRolledBack, s.Step == v1alpha1.StepFailed && s.mayReturn() && s.Reason != v1alpha1.ReasonRebootFailed:
		outcome.Boot, outcome.Message = v1alpha1.BootDown, s.Message
	default:
		return s
	}
	s.Rehearsal = ptr.To(outcome)
	return s
}
