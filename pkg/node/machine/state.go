package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// State is the node's progress, which NodeUpgrade.status persists. Its fields mean what
// they mean there; a zero time means none.
type State struct {
	Upgrade      v1alpha1.UpgradeReference // zero if none
	From         string                    // the kubelet's version when Upgrade began here
	Step         v1alpha1.Step
	Since        time.Time
	Reason       v1alpha1.Reason
	Message      string
	Until        time.Time
	Attempts     int32
	Failures     int32 // attempts that failed on this node
	RetryAt      time.Time
	RebootedFrom string
	// FromSoftReboots is how many soft reboots there had been in the boot RebootedFrom.
	FromSoftReboots int32
	// Snapshot is the snapshot of etcd that this node took for Upgrade.
	Snapshot *v1alpha1.EtcdSnapshot
	// KubeadmLog is the end of kubeadm's output if it failed.
	KubeadmLog string
	// KubeletLog is the end of the kubelet's journal before the guard's rollback.
	KubeletLog string
	// Method is how this attempt activates the image, once decided. MethodMessage says
	// why it differs from the requested method.
	Method        v1alpha1.Method
	MethodMessage string
	Steps         []StepTime
}

// StepTime is when a step began and ended. It ends when the next one begins.
type StepTime struct {
	Step                  v1alpha1.Step
	StartedAt, FinishedAt time.Time
}

// maxSteps is how many NodeUpgrade.status.steps may hold.
const maxSteps = 64

// enter begins another step, with no reason yet. It does nothing if s is in that step.
func (s State) enter(step v1alpha1.Step, o Observation) State {
	if s.Step == step {
		return s
	}
	s.Step, s.Since = step, o.Now
	s.Reason, s.Message, s.Until = "", "", time.Time{}
	s.Steps = slices.Clone(s.Steps)
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].FinishedAt.IsZero() {
		s.Steps[last].FinishedAt = o.Now
	}
	if step == v1alpha1.StepIdle || step == v1alpha1.StepUnsupported {
		return s
	}
	s.Steps = append(s.Steps, StepTime{Step: step, StartedAt: o.Now})
	if spare := len(s.Steps) - maxSteps; spare > 0 {
		s.Steps = s.Steps[spare:]
	}
	return s
}

// withReason returns s with the reason why the node is still in its step.
func (s State) withReason(reason v1alpha1.Reason, message string) State {
	s.Reason, s.Message, s.Until = reason, message, time.Time{}
	return s
}

func (s State) withUntil(t time.Time) State {
	s.Until = t
	return s
}

// newState returns the State at the beginning of an upgrade.
func newState(upgrade v1alpha1.UpgradeReference, from string) State {
	return State{Upgrade: upgrade, From: from}
}

// withoutUpgrade returns s without all that belongs to its upgrade.
func (s State) withoutUpgrade() State {
	return State{Step: s.Step, Since: s.Since, Reason: s.Reason, Message: s.Message, Until: s.Until}
}

// Follows reports whether the order belongs to the upgrade of s. An upgrade that was
// deleted and created again under the same name is another one.
func (s State) Follows(order v1alpha1.NodeUpgradeSpec) bool {
	return order.Upgrade != nil && order.Upgrade.UID == s.Upgrade.UID
}

// BetweenAttempts reports whether the node is in service in that step and holds no slot.
func BetweenAttempts(step v1alpha1.Step) bool {
	phase := step.Info().Phase
	return phase == v1alpha1.PhaseInService || phase == v1alpha1.PhaseUnsupported
}
