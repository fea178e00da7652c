package machine

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// longestLoop is how many steps a node can go round in.
const longestLoop = 3

// again goes back to a step that the attempt has left before. A loop that the node
// went round twice is told once: however often it does, the timeline still has its
// beginning.
func (s State) again(step v1alpha1.Step, o Observation) State {
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

// began returns when the node was in step for the first time, going to and fro between
// it and the others: the limit of a step that a node comes back to does not begin
// anew.
func (s State) began(step v1alpha1.Step, others ...v1alpha1.Step) time.Time {
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
