package agent

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// conditions are what kstatus reads: where the node is at, in three answers with
// the one reason that stands everywhere.
func conditions(before []metav1.Condition, s machine.State, o machine.Observation) []metav1.Condition {
	after := slices.Clone(before)
	reason := string(s.Reason)
	if reason == "" {
		reason = string(s.Step)
	}
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&after, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: s.Message,
			LastTransitionTime: *timeOf(o.Now),
		})
	}
	stalled := s.Step == v1alpha1.StepFailed || s.Step == v1alpha1.StepRolledBack || s.Step == v1alpha1.StepUnsupported
	idle := s.Step == v1alpha1.StepIdle
	succeeded := metav1.ConditionUnknown
	switch {
	case idle:
		succeeded = metav1.ConditionTrue
	case stalled:
		succeeded = metav1.ConditionFalse
	}
	set(v1alpha1.ConditionSucceeded, succeeded)
	set(v1alpha1.ConditionReconciling, truth(!idle && !stalled))
	set(v1alpha1.ConditionStalled, truth(stalled))
	return after
}

func truth(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
