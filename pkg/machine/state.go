package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// State is what NodeUpgrade.status persists of a node's way. Its fields mean
// what they mean there; a zero time is none.
type State struct {
	Upgrade      string
	From         string // the kubelet's version when Upgrade began here
	Step         v1alpha1.Step
	Since        time.Time
	Reason       v1alpha1.Reason
	Message      string
	Until        time.Time
	Attempts     int32
	Failures     int32 // attempts that something on this node ended
	LastError    string
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
func begin(upgrade, from string) State {
	return State{Upgrade: upgrade, From: from}
}

// Quiet is true for a step in which the node is in service and holds nothing.
func Quiet(step v1alpha1.Step) bool {
	switch step {
	case "", v1alpha1.StepIdle, v1alpha1.StepStaging, v1alpha1.StepWaiting, v1alpha1.StepUnsupported:
		return true
	}
	return false
}
