package agent

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// reportWriteAfter is how long a write may fail before the status reports it. Conflicts
// and stale watches resolve sooner.
const reportWriteAfter = 2 * time.Second

// failedWrite is a write that the API server refuses, or does not answer.
type failedWrite struct {
	step    v1alpha1.Step
	since   time.Time // when it was tried first
	message string
}

// record notes the result of a step's action that began at that time.
func (w *failedWrite) record(step v1alpha1.Step, do machine.Do, at time.Time, err error) {
	switch {
	case err == nil || !do.Writes():
		*w = failedWrite{}
	case w.step != step:
		*w = failedWrite{step: step, since: at, message: err.Error()}
	default:
		w.message = err.Error()
	}
}

// problem returns the error of the step's write if it has failed for reportWriteAfter.
func (w *failedWrite) problem(step v1alpha1.Step, now time.Time) string {
	if w.step != step || now.Sub(w.since) < reportWriteAfter {
		return ""
	}
	return w.message
}
