package render

import (
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// A node's way is shown in percent. What a step counts is about its share of
// the time; on a control plane, kubeadm and what belongs to it come before the
// rest.
const (
	staged         = 10
	componentsDone = 45
)

// components are the steps of pass 1, in percent of the whole way.
var components = map[v1alpha1.Step]int{
	v1alpha1.StepLocking: 12, v1alpha1.StepSnapshotting: 14, v1alpha1.StepKubeadm: 20, v1alpha1.StepChecking: 38, v1alpha1.StepUnlocking: 44,
}

// kubelets are the steps of pass 2, in percent of that pass.
var kubelets = map[v1alpha1.Step]int{
	v1alpha1.StepLocking: 2, v1alpha1.StepKubeadm: 5, v1alpha1.StepCordoning: 20, v1alpha1.StepDraining: 22, v1alpha1.StepLastCheck: 40,
	v1alpha1.StepActivating: 42, v1alpha1.StepRebooting: 48, v1alpha1.StepRestarting: 48, v1alpha1.StepVerifying: 65, v1alpha1.StepSettling: 75,
	v1alpha1.StepUncordoning: 96, v1alpha1.StepUnlocking: 98,
}

// share is how far the node is on its way, in percent.
func (n NodeProgress) share() int {
	began := staged
	if n.ComponentsDone {
		began = componentsDone
	}
	switch n.State {
	case StateDone:
		return 100
	case StateUnsupported, StateUnknown:
		return 0
	}
	step := n.Step
	switch step {
	case v1alpha1.StepIdle: // its agent has not come to the upgrade yet
		return 0
	case v1alpha1.StepStaging:
		return staged / 2
	}
	if n.State == StateFailed {
		step = n.failedAt()
	}
	if at, ok := components[step]; ok && n.ControlPlane && (n.Release == v1alpha1.ReleaseControlPlane || step == v1alpha1.StepChecking || step == v1alpha1.StepSnapshotting) {
		return at
	}
	if at, ok := kubelets[step]; ok {
		return began + at*(100-began)/100
	}
	return began
}

// failedAt is the step that the node failed in.
func (n NodeProgress) failedAt() v1alpha1.Step {
	for _, step := range slices.Backward(n.Steps) {
		if StateOf(step.Step) == StateActive && step.Step != v1alpha1.StepAborting {
			return step.Step
		}
	}
	return n.Step
}

// bar draws percents. It is full only at the end, and empty only at the begin.
func bar(percent, width int) string {
	full := percent * width / 100
	if full == 0 && percent > 0 {
		full = 1
	}
	full = min(max(full, 0), width)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}
