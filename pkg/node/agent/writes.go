package agent

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// reportWriteAfter is how long a write may fail before the status reports it. Conflicts
// and stale watches resolve sooner.
const reportWriteAfter = 2 * time.Second

// failedWrite is a write of the present step that the API server refuses, or does not answer.
type failedWrite struct {
	since   time.Time // when it was tried first
	message string    // empty: no write has failed
}

// record notes the result of an action that began at that time.
func (w *failedWrite) record(do machine.Do, at time.Time, err error) {
	if err == nil || !do.Writes() {
		*w = failedWrite{}
		return
	}
	if w.message == "" {
		w.since = at
	}
	w.message = err.Error()
}

// problem returns the error of a write that has failed for reportWriteAfter, if the node still
// tries it: by its next action, or in the next round of evictions. What else the node waits
// for has a reason of its own.
func (w *failedWrite) problem(s machine.State, next machine.Do, now time.Time) string {
	evicts := s.Reason == v1alpha1.ReasonDraining || s.Reason == v1alpha1.ReasonDrainBlocked
	if !next.Writes() && !evicts || now.Sub(w.since) < reportWriteAfter {
		return ""
	}
	return w.message
}

// maxEvent is how many bytes the message of an event has at most.
const maxEvent = 1024

// noteRefused records an event on the Node when the API server refuses what this agent reports in an object, with the
// field that it names: the object itself cannot say so. Each answer is recorded once.
func (p *reportSense) noteRefused(node *corev1.Node, kind string, err error) {
	answer := ""
	if isRefused(err) {
		answer = err.Error()
	}
	if answer != "" && answer != p.refused[kind] && node != nil {
		message := fmt.Sprintf("%s %s cannot be written: %s", kind, p.Node, answer)
		p.Events.Record(string(node.UID), Event{Type: corev1.EventTypeWarning, Reason: string(v1alpha1.ReasonAPIWriteFailed), Message: host.Clip(message, maxEvent)})
	}
	if err == nil || answer != "" {
		p.refused[kind] = answer
	}
}
