package agent

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// reportWriteAfter is how long a write may fail before the status reports it. Conflicts
// and stale watches resolve sooner.
const reportWriteAfter = 2 * time.Second

// failedWrite is a write that the API server refuses, or does not answer.
type failedWrite struct {
	do      machine.Do
	since   time.Time // when it was tried first
	message string
}

// record notes the result of an action that began at that time.
func (w *failedWrite) record(do machine.Do, at time.Time, err error) {
	switch {
	case err == nil || !do.Writes():
		*w = failedWrite{}
	case w.do != do:
		*w = failedWrite{do: do, since: at, message: err.Error()}
	default:
		w.message = err.Error()
	}
}

// problem returns the error of the next write if it has failed for reportWriteAfter.
func (w *failedWrite) problem(next machine.Do, now time.Time) string {
	if w.do != next || now.Sub(w.since) < reportWriteAfter {
		return ""
	}
	return w.message
}
