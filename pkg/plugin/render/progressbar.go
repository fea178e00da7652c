package render

import (
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// share returns how much of its upgrade the node has done, in percent. Each pass counts
// the same.
func (n NodeProgress) share() int {
	switch n.State {
	case StateDone:
		return 100
	case StateUnsupported, StateUnknown:
		return 0
	}
	step, passes := n.Step, n.PassesDone
	if n.State == StateFailed {
		step = n.failedAt()
	}
	if n.inFirstPass(step) {
		passes = 0
	}
	return roundedUp(100*passes+step.Info().Share, max(n.Passes, 1))
}

// roundedUp returns a/b, rounded up: what has begun is more than nothing.
func roundedUp(a, b int) int { return (a + b - 1) / b }

// inFirstPass reports whether a node at that step is in the first of two passes,
// whose work may be complete before it ends.
func (n NodeProgress) inFirstPass(step v1alpha1.Step) bool {
	only := step == v1alpha1.StepChecking || step == v1alpha1.StepSnapshotting
	return only || StateOf(step) == StateActive && n.Release == v1alpha1.ReleaseControlPlane
}

// failedAt returns the step in which the node failed.
func (n NodeProgress) failedAt() v1alpha1.Step {
	for _, step := range slices.Backward(n.Steps) {
		if StateOf(step.Step) == StateActive && step.Step != v1alpha1.StepAborting {
			return step.Step
		}
	}
	return n.Step
}

// bar draws a percentage. It is full only at the end, and empty only at the beginning.
func bar(percent, width int) string {
	full := percent * width / 100
	if full == 0 && percent > 0 {
		full = 1
	}
	full = min(max(full, 0), width)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}
