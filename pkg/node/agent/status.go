package agent

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// statusOf writes a State, but for its reason and message, which are in the
// conditions. Times lose what is below a second but in steps, which keep
// microseconds.
func statusOf(s machine.State) v1alpha1.NodeUpgradeStatus {
	status := v1alpha1.NodeUpgradeStatus{
		Step: s.Step, StepStartTime: timeOf(s.Since), StepEndTime: timeOf(s.Until),
		Versions: v1alpha1.NodeVersions{From: s.From},
		Retry:    v1alpha1.Retry{Attempts: s.Attempts, Failures: s.Failures, Time: timeOf(s.RetryAt)},
		Reboot:   v1alpha1.NodeReboot{FromBootID: s.RebootedFrom, FromSoftReboots: s.FromSoftReboots},
		Method:   s.Method, MethodMessage: s.MethodMessage, Rehearsal: s.Rehearsal,
		AttachedVolumes: s.AttachedVolumes, PartsBefore: s.Parts,
		EtcdSnapshot: s.Snapshot, KubeadmLog: s.KubeadmLog, KubeletLog: s.KubeletLog,
	}
	if s.Upgrade.UID != "" {
		status.Upgrade = &s.Upgrade
	}
	for _, step := range s.Steps {
		t := v1alpha1.StepTime{Step: step.Step, StartTime: metav1.NewMicroTime(step.StartedAt)}
		if !step.FinishedAt.IsZero() {
			t.EndTime = ptr.To(metav1.NewMicroTime(step.FinishedAt))
		}
		status.Steps = append(status.Steps, t)
	}
	return status
}

// stateOf reads a State from the status that it was written to.
func stateOf(status v1alpha1.NodeUpgradeStatus) machine.State {
	s := machine.State{
		Upgrade: ptr.Deref(status.Upgrade, v1alpha1.UpgradeReference{}), From: status.Versions.From,
		Step: status.Step, Since: ptr.Deref(status.StepStartTime, metav1.Time{}).Time, Until: ptr.Deref(status.StepEndTime, metav1.Time{}).Time,
		Attempts: status.Retry.Attempts, Failures: status.Retry.Failures, RetryAt: ptr.Deref(status.Retry.Time, metav1.Time{}).Time,
		RebootedFrom: status.Reboot.FromBootID, FromSoftReboots: status.Reboot.FromSoftReboots,
		Method: status.Method, MethodMessage: status.MethodMessage, Rehearsal: status.Rehearsal,
		AttachedVolumes: status.AttachedVolumes, Parts: status.PartsBefore,
		Snapshot: status.EtcdSnapshot, KubeadmLog: status.KubeadmLog, KubeletLog: status.KubeletLog,
	}
	s.Reason, s.Message = causeOf(status)
	for _, step := range status.Steps {
		t := machine.StepTime{Step: step.Step, StartedAt: step.StartTime.Time}
		if step.EndTime != nil {
			t.FinishedAt = step.EndTime.Time
		}
		s.Steps = append(s.Steps, t)
	}
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].Step == s.Step && (s.Steps[last].FinishedAt.IsZero() || s.Step == v1alpha1.StepRolledBack) {
		// stepStartTime has whole seconds only: a settle time that is counted from
		// it would be too short.
		s.Since = s.Steps[last].StartedAt
	}
	return s
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return ptr.To(metav1.NewTime(t.UTC().Truncate(time.Second)))
}

// maxMessage is the API's limit on the message of a condition. A status with a longer one would
// never be written.
const maxMessage = 32768

// conditions returns the agent's conditions for a State. problem is the error of a write
// that fails, or empty.
//
//	the State is         UpToDate                       Reconciling             Stalled
//	stopped, unsupported False, its reason and message  absent                  True, its reason
//	any, a write fails   False, the write's problem     its reason and message  absent
//	up to date           True, its reason and message   absent                  absent
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
	case phase == v1alpha1.PhaseStopped || phase == v1alpha1.PhaseUnsupported:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, reason, s.Message)
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, "")
	case problem != "":
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonAPIWriteFailed, problem)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, s.Message)
	case reason == v1alpha1.ReasonUpToDate || reason == v1alpha1.ReasonNoUpgrade:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, reason, s.Message)
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
