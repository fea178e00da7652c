package machine

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// snapshotting takes a snapshot of etcd before the first kubeadm of an upgrade. The
// snapshot is in the status before kubeadm begins.
func snapshotting(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Snapshot]
	ended := work.endedInStep(s, key)
	switch {
	case work.Running:
		return s.withReason(v1alpha1.ReasonReleased, "a snapshot of etcd is being taken"), Action{}
	case !needsSnapshot(s, o):
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case ended && work.OK && o.EtcdSnapshot != nil:
		s.Snapshot = o.EtcdSnapshot
		return s.enter(v1alpha1.StepKubeadm, o), Action{}
	case ended:
		return abortAndRetry(s, o, v1alpha1.ReasonSnapshotFailed, work.Message)
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	if o.Gate == nil {
		return s, Action{}
	}
	return start(s, o, verb.Snapshot, key)
}

// needsSnapshot reports whether this upgrade still needs a snapshot of etcd. After
// kubeadm it would be too late.
func needsSnapshot(s State, o Observation) bool {
	return o.Spec.EtcdSnapshot && o.Host.ControlPlane && s.Snapshot == nil && !kubeadmDone(o)
}

// kubeadm runs `kubeadm upgrade`. Once started, it is never interrupted.
func kubeadm(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Kubeadm]
	ended := work.endedInStep(s, key)
	switch {
	case work.Running:
		return s.withReason(v1alpha1.ReasonReleased, "kubeadm is running"), Action{}
	case ended && work.OK && !kubeadmDone(o):
		return abortAndRetry(s, o, v1alpha1.ReasonKubeadmFailed, fmt.Sprintf("kubeadm succeeded, and yet the node's files do not say that it reached %s: they say %s", o.Spec.Version, cmp.Or(o.Host.KubeadmVersion, "nothing")))
	case kubeadmDone(o):
		s.KubeadmLog = ""
		if o.Spec.Release == v1alpha1.ReleaseNode && !withdrawn(s, o) {
			return afterKubeadm(s, o)
		}
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case ended:
		s.KubeadmLog = work.Log
		return abortAndRetry(s, o, work.Reason, work.Message)
	case withdrawn(s, o) && work.OK && !work.FinishedAt.Before(s.Since):
		// It was running when the status that said why was lost.
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case needsSnapshot(s, o):
		return s.enter(v1alpha1.StepSnapshotting, o), Action{}
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	if o.Gate == nil {
		return s, Action{}
	}
	return start(s, o, verb.Kubeadm, key)
}

// checking ends pass 1. The node keeps its slot until the control plane is healthy.
func checking(s State, o Observation) (State, Action) {
	limit := deadline(s, o, CheckWithin)
	switch {
	case o.Health == nil:
		return awaitHealth(s, o, limit, "kubeadm")
	case o.Health.OK:
		return s.uncounted().enter(v1alpha1.StepUnlocking, o), Action{} // the node never left service
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not healthy %s after kubeadm: %s", CheckWithin, o.Health.Message))
	}
	return s.withReason(v1alpha1.ReasonUnhealthy, o.Health.Message), wait(limit)
}

// awaitHealth waits for an answer about the control plane's health, AnswerWithin longer
// than for bad health to become good. Then the node fails.
func awaitHealth(s State, o Observation, limit time.Time, after string) (State, Action) {
	limit = limit.Add(AnswerWithin)
	if !o.Now.Before(limit) {
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("could not determine health %s after %s: the API server did not report the state of the control plane", CheckWithin+AnswerWithin, after))
	}
	return s, wait(limit)
}
