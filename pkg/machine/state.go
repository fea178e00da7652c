package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// State is what NodeUpgrade.status persists of a node's way. Its fields mean
// what they mean there; a zero time is none.
type State struct {
	Upgrade      v1alpha1.UpgradeReference // zero: none
	From         string                    // the kubelet's version when Upgrade began here
	Step         v1alpha1.Step
	Since        time.Time
	Reason       v1alpha1.Reason
	Message      string
	Until        time.Time
	Attempts     int32
	Failures     int32 // attempts that something on this node ended
	RetryAt      time.Time
	RebootedFrom string
	// Snapshot is the one of etcd that was taken here for Upgrade.
	Snapshot *v1alpha1.EtcdSnapshot
	// KubeadmLog is the end of kubeadm's words, until it succeeds.
	KubeadmLog string
	// Method is how the present attempt activates the image, once that is
	// decided, and MethodMessage why it is not the one that was asked for.
	Method        v1alpha1.Method
	MethodMessage string
	Steps         []StepTime
}

// StepTime says when a step began and ended; it ends when the next one begins.
type StepTime struct {
	Step                  v1alpha1.Step
	StartedAt, FinishedAt time.Time
}

// maxSteps is how many NodeUpgrade.status.steps may hold.
const maxSteps = 64

// enter begins another step. The reason of the former one is gone.
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

// say tells why the node is still where it is.
func (s State) say(reason v1alpha1.Reason, message string) State {
	s.Reason, s.Message, s.Until = reason, message, time.Time{}
	return s
}

func (s State) until(t time.Time) State {
	s.Until = t
	return s
}

// begin forgets the former upgrade.
func begin(upgrade v1alpha1.UpgradeReference, from string) State {
	return State{Upgrade: upgrade, From: from}
}

// forget keeps nothing of an upgrade that is over.
func (s State) forget() State {
	return State{Step: s.Step, Since: s.Since, Reason: s.Reason, Message: s.Message, Until: s.Until}
}

// Follows reports whether the order is still part of the upgrade that s is about.
// One that was created anew under the same name is another upgrade.
func (s State) Follows(order v1alpha1.NodeUpgradeSpec) bool {
	return order.Upgrade != nil && order.Upgrade.UID == s.Upgrade.UID
}

// Quiet reports whether the node is in service in that step and holds nothing.
func Quiet(step v1alpha1.Step) bool {
	phase := step.Info().Phase
	return phase == v1alpha1.PhaseInService || phase == v1alpha1.PhaseUnsupported
}
