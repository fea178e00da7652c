package agent

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
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
		Method:   s.Method, MethodMessage: s.MethodMessage,
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
		Step: status.Step, Since: instant(status.StepStartTime), Until: instant(status.StepEndTime),
		Attempts: status.Retry.Attempts, Failures: status.Retry.Failures, RetryAt: instant(status.Retry.Time),
		RebootedFrom: status.Reboot.FromBootID, FromSoftReboots: status.Reboot.FromSoftReboots,
		Method: status.Method, MethodMessage: status.MethodMessage,
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
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].Step == s.Step && s.Steps[last].FinishedAt.IsZero() {
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

func instant(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
