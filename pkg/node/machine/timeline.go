package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// longestLoop is how many steps a loop of a node can have.
const longestLoop = 3

// reenter goes back to an earlier step of the attempt. It removes a repeated loop from the
// timeline, so that repetitions do not push out its beginning.
func (s State) reenter(step v1alpha1.Step, o Observation) State {
	s = s.enter(step, o)
	last := len(s.Steps) - 1
	for n := 2; n <= longestLoop && 2*n <= last; n++ {
		if slices.EqualFunc(s.Steps[last-n:last], s.Steps[last-2*n:last-n], sameStep) {
			s.Steps = slices.Delete(s.Steps, last-n, last)
			break
		}
	}
	return s
}

func sameStep(a, b StepTime) bool { return a.Step == b.Step }

// firstEntered returns when the node first entered step while it alternated between it and
// the others: the limit of a step does not restart when the node comes back to it.
func (s State) firstEntered(step v1alpha1.Step, others ...v1alpha1.Step) time.Time {
	first := s.Since
	for _, one := range slices.Backward(s.Steps) {
		switch {
		case one.Step != step && !slices.Contains(others, one.Step):
			return first
		case one.Step == step && one.StartedAt.Before(first):
			first = one.StartedAt
		}
	}
	return first
}
