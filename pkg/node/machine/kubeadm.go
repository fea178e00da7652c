package machine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// The messages while these verbs run, and when they are about to be started, so that the status is written
// once.
const (
	takesSnapshot = "a snapshot of etcd is being taken"
	runsKubeadm   = "kubeadm is running"
	renews        = "certificates are being renewed"
)

// snapshotting takes a snapshot of etcd before the first kubeadm of an upgrade. The
// snapshot is in the status before kubeadm begins.
func snapshotting(s State, o Observation) (State, Action) {
	key, work := attemptKey(s, o), o.Work[verb.Snapshot]
	ended := work.endedInStep(s, key)
	switch {
	case work.Running:
		return s.withReason(v1alpha1.ReasonReleased, takesSnapshot), Action{}
	case !needsEtcdSnapshot(s, o):
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
	if o.Rules == nil {
		return s, Action{}
	}
	return withWork(s.withReason(v1alpha1.ReasonReleased, takesSnapshot), o, verb.Snapshot, key)
}

// needsEtcdSnapshot reports whether this upgrade still needs a snapshot of etcd. After
// kubeadm it would be too late.
func needsEtcdSnapshot(s State, o Observation) bool {
	return o.Spec.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotRequired && o.Host.ControlPlane && s.Snapshot == nil && !kubeadmDone(o)
}

// kubeadmVerb returns what the step Kubeadm runs, and its message.
func kubeadmVerb(o Observation) (v verb.Verb, message string) {
	if o.Spec.Type == v1alpha1.TypeCertificates || o.Work[verb.Renew].Running {
		return verb.Renew, renews
	}
	return verb.Kubeadm, runsKubeadm
}

// hasRenewed reports whether the certificates were renewed for the order's upgrade.
func hasRenewed(o Observation) bool {
	done := o.Host.CertificatesRenewed
	return done != nil && o.Spec.Upgrade != nil && done.Upgrade.UID == o.Spec.Upgrade.UID
}

const putBackKey = "put-back"

// putBack puts back the certificates that a renewal has left half done, as after a power cut: whatever is ordered by
// now, each needs its key.
func putBack(s State, o Observation) (State, Action) {
	if s.Step == "" {
		s = s.enter(v1alpha1.StepIdle, o)
	}
	work := o.Work[verb.PutBack]
	s = s.withReason(v1alpha1.ReasonRenewalFailed, "a renewal of certificates was interrupted: the former ones are being put back")
	switch failedAt := work.FinishedAt; {
	case work.Running:
		return s, Action{}
	case !work.OK && work.ended(putBackKey) && !failedAt.After(o.Now) && o.Now.Before(failedAt.Add(confRetry)):
		return s.withReason(work.Reason, "a renewal of certificates was interrupted, and the former ones could not be put back: "+work.Message), wakeAt(failedAt.Add(confRetry))
	}
	return withWork(s, o, verb.PutBack, putBackKey)
}

// kubeadm runs `kubeadm upgrade`, or renews certificates. Once started, it is never interrupted.
func kubeadm(s State, o Observation) (State, Action) {
	run, message := kubeadmVerb(o)
	key, work := attemptKey(s, o), o.Work[run]
	ended := work.endedInStep(s, key)
	switch {
	case work.Running:
		return s.withReason(v1alpha1.ReasonReleased, message), Action{}
	case o.Host.RenewalLeft:
		return putBack(s, o)
	case ended && work.OK && !kubeadmDone(o) && run == verb.Renew:
		return abortAndRetry(s, o, v1alpha1.ReasonRenewalFailed, "the certificates were renewed, and yet the node has no record of it")
	case ended && work.OK && !kubeadmDone(o):
		return abortAndRetry(s, o, v1alpha1.ReasonKubeadmFailed,
			fmt.Sprintf("kubeadm succeeded, and yet the node's files do not say that it reached %s: they say %s", o.Spec.Version, cmp.Or(o.Host.KubeadmVersion, "nothing")))
	case kubeadmDone(o):
		s.KubeadmLog = ""
		if leavesService(s, o) && !o.Host.ControlPlane {
			return afterKubeadm(s, o)
		}
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case ended:
		s.KubeadmLog = work.LogTail
		return abortAndRetry(s, o, work.Reason, work.Message)
	case withdrawn(s, o) && work.OK && !work.FinishedAt.Before(s.Since):
		// It was running when the status that said why was lost.
		return s.enter(v1alpha1.StepChecking, o), Action{}
	case needsEtcdSnapshot(s, o):
		return s.enter(v1alpha1.StepSnapshotting, o), Action{}
	}
	if s, stop, aborted := abortIfBlocked(s, o); aborted {
		return s, stop
	}
	if o.Rules == nil {
		return s, Action{}
	}
	return withWork(s.withReason(v1alpha1.ReasonReleased, message), o, run, key)
}

// leavesService reports whether the node goes on with its kubelet after kubeadm, out of service.
func leavesService(s State, o Observation) bool {
	return o.Spec.Release == v1alpha1.ReleaseNode && !withdrawn(s, o) && o.Spec.Type != v1alpha1.TypeCertificates
}

// checking ends pass 1. The node keeps its slot until the control plane is healthy. One that goes by
// Cluster API's request then continues with its kubelet.
func checking(s State, o Observation) (State, Action) {
	limit := deadline(s, o, CheckWithin)
	switch {
	case o.Health == nil:
		return awaitHealth(s, o, limit, "kubeadm")
	case o.Health.OK && leavesService(s, o):
		return afterKubeadm(s, o)
	case o.Health.OK:
		return s.uncounted().enter(v1alpha1.StepUnlocking, o), Action{} // the node never left service
	case !o.Now.Before(limit):
		return fail(s, o, v1alpha1.ReasonUnhealthy, fmt.Sprintf("not healthy %s after kubeadm: %s", CheckWithin, o.Health.Message))
	}
	return s.withReason(v1alpha1.ReasonUnhealthy, o.Health.Message), wakeAt(limit)
}

// awaitHealth waits for an answer about the control plane's health, AnswerWithin longer
// than for bad health to become good. Then the node fails.
func awaitHealth(s State, o Observation, limit time.Time, after string) (State, Action) {
	limit = limit.Add(AnswerWithin)
	if !o.Now.Before(limit) {
		return fail(s, o, v1alpha1.ReasonUnhealthy,
			fmt.Sprintf("could not determine health %s after %s: the API server did not report the state of the control plane", CheckWithin+AnswerWithin, after))
	}
	return s, wakeAt(limit)
}

// mayRunKubeadmAhead reports whether kubeadm may run on this worker before it has a slot. It
// disturbs no pod: it writes files that the next kubelet reads. It runs once; if it fails, it
// runs again when the node has its slot.
func mayRunKubeadmAhead(s State, o Observation) bool {
	return s.Follows(o.Spec) && o.Spec.Release == v1alpha1.ReleaseKubeadmAhead && o.Managed &&
		!o.Host.ControlPlane && Staged(o) && !kubeadmDone(o) && !o.Work[verb.Kubeadm].ended(attemptKey(s, o))
}

// waitingToRunAhead waits until no rule holds the node before kubeadm runs ahead of the node's turn.
func waitingToRunAhead(s State, o Observation) (State, Action) {
	if o.Rules.Holds() {
		return s.withReason(o.Rules.Reason, o.Rules.Message).withUntil(ptr.Deref(o.Rules.Until, time.Time{})), wakeAt(o.Now.Add(rulesRound))
	}
	return runAhead(s.enter(v1alpha1.StepKubeadmAhead, o), o)
}

// runsAhead returns s with the reason that is shown while kubeadm runs ahead.
func runsAhead(s State) State {
	return s.withReason(v1alpha1.ReasonReleased, "runs kubeadm ahead of its turn")
}

// kubeadmAhead runs kubeadm while the node is in service. Once started, it is never
// interrupted.
func kubeadmAhead(s State, o Observation) (State, Action) {
	switch {
	case !mayRunKubeadmAhead(s, o), o.Rules != nil && o.Rules.Holds():
		return betweenAttempts(s.enter(v1alpha1.StepWaiting, o), o)
	case o.Rules == nil:
		return s, Action{}
	}
	return runAhead(s, o)
}

// runAhead starts kubeadm ahead of the node's turn.
func runAhead(s State, o Observation) (State, Action) {
	return withWork(runsAhead(s), o, verb.Kubeadm, attemptKey(s, o))
}

// ranKubeadmAhead reports whether the node has run kubeadm ahead of its turn in this upgrade.
func (s State) ranKubeadmAhead() bool {
	return slices.ContainsFunc(s.Steps, func(t StepTime) bool { return t.Step == v1alpha1.StepKubeadmAhead })
}
