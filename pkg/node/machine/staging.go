package machine

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func staging(s State, o Observation) (State, Action) {
	s = s.enter(v1alpha1.StepStaging, o)
	key, work := StageKey(o.Spec), o.Work[verb.Stage]
	switch {
	case o.Spec.Image == nil:
		return s.withReason(v1alpha1.ReasonNotOffered, "the upgrade names no image for this node"), Action{}
	case work.Running:
		return keepFailure(s, "the image is being downloaded and checked"), Action{}
	case work.ended(key) && !work.OK:
		return retryPreparation(s, o, work, work.Reason, verb.Stage, key)
	case o.Host.MissingImage != "":
		message := fmt.Sprintf("%s runs, and its image is not on the disk: nothing could return the node to it. Put the file back: %s", o.Host.Merged, o.Host.MissingImage)
		return s.withReason(v1alpha1.ReasonRunningImageGone, message), wait(o.Now.Add(confRetry))
	case o.Host.ConfProblem != "" && o.Host.At.Before(s.Since):
		return s, wait(o.Now.Add(confRetry)) // it may have been fixed since
	case o.Host.ConfProblem != "":
		return s.withReason(v1alpha1.ReasonConfConflict, o.Host.ConfProblem), wait(o.Now.Add(confRetry))
	}
	s.RetryAt = time.Time{}
	return start(keepFailure(s, "the image is being downloaded and checked"), o, verb.Stage, key)
}

// pulling completes staging on a control plane: the container images that kubeadm needs
// must be present before any node begins. Like staging it also runs outside windows.
func pulling(s State, o Observation) (State, Action) {
	s = s.enter(v1alpha1.StepStaging, o)
	key, work := StageKey(o.Spec), o.Work[verb.Pull]
	if work.ended(key) {
		return retryPreparation(s, o, work, v1alpha1.ReasonPullFailed, verb.Pull, key)
	}
	if s.Reason != v1alpha1.ReasonPullFailed || s.RetryAt.IsZero() {
		s = s.withReason(v1alpha1.ReasonPullingImages, "the control plane's container images are being pulled")
	}
	if work.Running {
		return s, Action{}
	}
	s.RetryAt = time.Time{}
	return start(s, o, verb.Pull, key)
}

// retryPreparation reports a failed preparation, and retries it after stageRetry.
func retryPreparation(s State, o Observation, failed Work, reason v1alpha1.Reason, v verb.Verb, key string) (State, Action) {
	s = s.withReason(reason, failed.Message)
	ended := failed.FinishedAt
	if ended.After(o.Now) { // the clock was ahead
		ended = s.Since
	}
	s.RetryAt = stageRetry(s, ended)
	if o.Now.Before(s.RetryAt) {
		return s, wait(s.RetryAt)
	}
	return start(s, o, v, key)
}

// keepFailure keeps the reason of a failed preparation while a retry runs, so that it does
// not flap.
func keepFailure(s State, message string) State {
	if s.Reason != "" && s.Reason != v1alpha1.ReasonStaging && !s.RetryAt.IsZero() {
		return s
	}
	return s.withReason(v1alpha1.ReasonStaging, message)
}
