package agent

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// maxMessage is the API's limit on the message of a condition. A status with a longer one would
// never be written.
const maxMessage = 32768

// conditions returns the agent's conditions for a State. problem is the error of a write
// that fails, or empty.
//
//	the State is         UpToDate                       Reconciling             Stalled
//	up to date           True, its reason and message   absent                  absent
//	stopped, unsupported False, its reason and message  absent                  True, its reason
//	any, a write fails   False, the write's problem     its reason and message  absent
//	any other            False, its reason and message  its reason              absent
func conditions(before []metav1.Condition, s machine.State, o machine.Observation, generation int64, problem string) []metav1.Condition {
	var after []metav1.Condition
	set := func(kind string, status metav1.ConditionStatus, reason v1alpha1.Reason, message string) {
		if old := meta.FindStatusCondition(before, kind); old != nil {
			after = append(after, *old)
		}
		meta.SetStatusCondition(&after, metav1.Condition{
			Type: kind, Status: status, Reason: string(reason), Message: host.Clip(message, maxMessage),
			ObservedGeneration: generation, LastTransitionTime: *timeOf(o.Now),
		})
	}
	if managed, reason, message := management(o); o.Host != nil {
		set(v1alpha1.ConditionManaged, managed, v1alpha1.Reason(reason), message)
	} else if old := meta.FindStatusCondition(before, v1alpha1.ConditionManaged); old != nil {
		after = append(after, *old) // until the host can be read
	}
	// A step without a reason is that of a released node.
	reason := cmp.Or(s.Reason, v1alpha1.ReasonReleased)
	phase := s.Step.Info().Phase
	switch {
	case reason == v1alpha1.ReasonUpToDate || reason == v1alpha1.ReasonNoUpgrade:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, reason, s.Message)
	case phase == v1alpha1.PhaseStopped || phase == v1alpha1.PhaseUnsupported:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, reason, s.Message)
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, "")
	case problem != "":
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonAPIWriteFailed, problem)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, s.Message)
	default:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, reason, s.Message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, "")
	}
	return after
}

// management returns status, reason and message of the condition Managed.
func management(o machine.Observation) (status metav1.ConditionStatus, reason, message string) {
	switch work := o.Work[verb.Uninstall]; {
	case o.Managed:
		return metav1.ConditionTrue, v1alpha1.ManagedTakenOver, "the agent may change the node"
	case o.Host == nil || !o.Host.HasFiles:
		return metav1.ConditionFalse, v1alpha1.ManagedNothingLeft, "nothing of kubectl-upgrade is on the node"
	case work.StartFailure.Reason != "":
		return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, work.StartFailure.Message
	case !work.FinishedAt.IsZero() && !work.OK:
		return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, work.Message
	}
	return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, "what kubectl-upgrade keeps on the node is removed as soon as no attempt is in progress"
}

// causeOf reads reason and message back from the conditions.
func causeOf(status v1alpha1.NodeUpgradeStatus) (reason v1alpha1.Reason, message string) {
	reason, message = status.Cause()
	if own := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling); reason == v1alpha1.ReasonAPIWriteFailed && own != nil {
		reason, message = v1alpha1.Reason(own.Reason), own.Message
	}
	if reason == v1alpha1.ReasonReleased && message == "" {
		reason = ""
	}
	return reason, message
}
