package agent

import (
	"cmp"
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
	reason := cmp.Or(string(s.Reason), string(s.Step))
	set := func(kind string, status metav1.ConditionStatus) {
		meta.SetStatusCondition(&after, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: s.Message,
			LastTransitionTime: *timeOf(o.Now),
		})
	}
	succeeded, reconciling, stalled := metav1.ConditionUnknown, metav1.ConditionTrue, metav1.ConditionFalse
	switch s.Step {
	case v1alpha1.StepIdle:
		succeeded, reconciling = metav1.ConditionTrue, metav1.ConditionFalse
	case v1alpha1.StepFailed, v1alpha1.StepRolledBack, v1alpha1.StepUnsupported:
		succeeded, reconciling, stalled = metav1.ConditionFalse, metav1.ConditionFalse, metav1.ConditionTrue
	}
	set(v1alpha1.ConditionSucceeded, succeeded)
	set(v1alpha1.ConditionReconciling, reconciling)
	set(v1alpha1.ConditionStalled, stalled)
	return after
}
