package agent

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// tellWriteAfter is how long a write may fail before people are told: another client
// that wrote in between, or a watch that lags, is no news.
const tellWriteAfter = 2 * time.Second

// failedWrite is a write that the API server refuses, or does not answer.
type failedWrite struct {
	do      machine.Do
	since   time.Time // when it was tried first
	message string
}

// wrote keeps what came of an action that was begun at that time.
func (w *failedWrite) wrote(do machine.Do, at time.Time, err error) {
	switch {
	case err == nil || !do.Writes():
		*w = failedWrite{}
	case w.do != do:
		*w = failedWrite{do: do, since: at, message: err.Error()}
	default:
		w.message = err.Error()
	}
}

// problem returns what the API server said of a write that has failed for a while, and
// that is still to be done.
func (w *failedWrite) problem(next machine.Do, now time.Time) string {
	if w.do != next || now.Sub(w.since) < tellWriteAfter {
		return ""
	}
	return w.message
}
