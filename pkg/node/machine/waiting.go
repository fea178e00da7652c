package machine

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// betweenAttempts chooses between Idle, Staging, Waiting and Unsupported, from the
// observation alone.
func betweenAttempts(s State, o Observation) (State, Action) {
	if o.Host.RenewalLeft && !o.Work[verb.Renew].Running {
		if o.Slot.Held != "" { // in no step between attempts would it keep it until they are back
			s = s.switchUpgrade(o).enter(v1alpha1.StepKubeadm, o)
		}
		return putBack(s, o)
	}
	// A mark on a node that has nothing of kubectl-upgrade is not of an upgrade: a kubelet
	// may annotate its own Node.
	if !o.Managed && (!o.Host.HasFiles || !o.Node.Marked() && o.Slot.Held == "") {
		return unmanaged(s, o)
	}
	if o.Slot.Held != "" && !o.Node.Marked() && !o.Host.Guarded && s.endedIdle() {
		return s, actionOf(DoFree)
	}
	s = s.switchUpgrade(o)
	if o.Node.Marked() || o.Slot.Held != "" {
		return resume(s, o)
	}
	if o.Spec.Upgrade == nil {
		s = s.withoutUpgrade()
	}
	switch {
	case o.Host.Unsupported != nil && o.Spec.Type.HasVersion():
		return s.enter(v1alpha1.StepUnsupported, o).withReason(v1alpha1.ReasonUnsupported, o.Host.Unsupported.Text()), Action{}
	case o.Host.Armed && disarmDue(o):
		if s.Step == "" { // the first step, so that a refused start is reported
			s = s.enter(v1alpha1.StepIdle, o)
		}
		return withWork(s, o, verb.Disarm, disarmKey)
	case o.Spec.Upgrade == nil:
		return idle(s, o, v1alpha1.ReasonNoUpgrade, "no upgrade is requested")
	case done(s, o):
		missed := holdMissed(s, o)
		s, a := idle(s, o, v1alpha1.ReasonUpToDate, upToDate(s, o))
		if missed {
			a = actionOf(DoHold)
		}
		return s, a
	case !Staged(o):
		return staging(s, o)
	case !Pulled(o):
		return pulling(s, o)
	}
	return waiting(s, o)
}

// switchUpgrade returns a fresh State if another upgrade is requested, or s.
func (s State) switchUpgrade(o Observation) State {
	if o.Spec.Upgrade != nil && !s.Follows(o.Spec) {
		return newState(*o.Spec.Upgrade, o.Node.KubeletVersion)
	}
	return s
}

const disarmKey = "disarm"

// disarmDue reports whether disarming may run now: once every confRetry. On a node without
// a sysext image of Kubernetes it never does.
func disarmDue(o Observation) bool {
	work := o.Work[verb.Disarm]
	ended := work.FinishedAt
	due := ended.After(o.Now) || !o.Now.Before(ended.Add(confRetry))
	return o.Host.Unsupported == nil && !work.Running && !o.Work[verb.Stage].Running && due
}

func upToDate(s State, o Observation) string {
	switch {
	case o.Spec.Type == v1alpha1.TypeCertificates:
		return "the node's certificates were renewed"
	case o.Spec.Type.HasVersion():
		return "the node runs " + o.Node.KubeletVersion
	case rebooted(s, o):
		return "the node was rebooted"
	case o.Spec.FromBootID != "":
		return "the node has booted since the upgrade was triggered"
	}
	return "no reboot is needed"
}

// idle enters Idle with the reason, or with what keeps systemd-sysupdate armed.
func idle(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	var next Action
	const armed = "the node's own systemd-sysupdate may still activate an image: "
	switch work := o.Work[verb.Disarm]; {
	case o.Host.Armed && work.ended(disarmKey) && !work.OK:
		next = wakeAt(work.FinishedAt.Add(confRetry))
		reason, message = work.Reason, armed+work.Message
	case o.Host.Unsupported == nil && o.Host.ConfProblem != "":
		reason, message = v1alpha1.ReasonConfConflict, armed+o.Host.ConfProblem
	}
	s = s.enter(v1alpha1.StepIdle, o).withReason(reason, message)
	s.RetryAt = time.Time{}
	return s, next
}

// keepsAbortReason reports whether the reason of the last abort still applies: it says
// more than that the slot is gone.
func keepsAbortReason(s State, o Observation) bool {
	last := len(s.Steps) - 2
	return last >= 0 && s.Steps[last].Step == v1alpha1.StepAborting && s.RetryAt.IsZero() &&
		s.Reason != "" && s.Reason != v1alpha1.ReasonAwaitingRelease &&
		(s.Until.IsZero() || o.Now.Before(s.Until))
}

// waiting reports why the node waits, and enters Locking once the node is released and
// has a slot reserved.
func waiting(s State, o Observation) (State, Action) {
	failed := s.Step == v1alpha1.StepWaiting && o.Now.Before(s.RetryAt)
	if s.Reason == v1alpha1.ReasonSnapshotFailed && o.Spec.EtcdSnapshotPolicy != v1alpha1.EtcdSnapshotRequired {
		failed = false // a person no longer requires the snapshot
	}
	s = s.enter(v1alpha1.StepWaiting, o)
	switch {
	case failed:
		return s, wakeAt(s.RetryAt)
	case mayRunKubeadmAhead(s, o) && o.Rules != nil:
		return waitingToRunAhead(s, o)
	case withdrawn(s, o) && s.keptFromSlot() && o.Rules == nil:
		return s, wakeAt(o.Now.Add(rulesRound))
	case withdrawn(s, o) && s.keptFromSlot() && o.Rules.Holds():
		// The coordinator releases the node again once this reason is gone.
		return s.withReason(o.Rules.Reason, o.Rules.Message).withUntil(ptr.Deref(o.Rules.Until, time.Time{})), wakeAt(o.Now.Add(rulesRound))
	case withdrawn(s, o):
		s.RetryAt = time.Time{}
		if work := o.Work[verb.Kubeadm]; work.ended(attemptKey(s, o)) && !work.OK && !kubeadmDone(o) {
			s.KubeadmLog = work.LogTail
			return s.withReason(work.Reason, "kubeadm failed ahead of the node's turn, and runs again when it comes: "+work.Message), Action{}
		}
		return s.withReason(v1alpha1.ReasonAwaitingRelease, "ready to begin; waiting for the coordinator"), Action{}
	case o.Spec.Release == v1alpha1.ReleaseControlPlane && kubeadmDone(o):
		return s.withReason(v1alpha1.ReasonControlPlaneFirst, "this node's control plane is at "+o.Spec.Version+"; every other control plane is upgraded before any kubelet"), Action{}
	case o.Slot.Reserved == "" && keepsAbortReason(s, o):
		return s, wakeAt(s.Until)
	case o.Slot.Reserved == "":
		return s.withReason(v1alpha1.ReasonNoSlot, "released; waiting for a slot"), Action{}
	case wrongSlot(o, o.Slot.Reserved):
		return s.withReason(v1alpha1.ReasonNoSlot, wrongSlotMessage(o.Slot.Reserved)), Action{}
	}
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepLocking, o), Action{}
}

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
		return s.withReason(v1alpha1.ReasonRunningImageGone, message), wakeAt(o.Now.Add(confRetry))
	case o.Host.ConfProblem != "" && o.Host.At.Before(s.Since):
		return s, wakeAt(o.Now.Add(confRetry)) // it may have been fixed since
	case o.Host.ConfProblem != "":
		return s.withReason(v1alpha1.ReasonConfConflict, o.Host.ConfProblem), wakeAt(o.Now.Add(confRetry))
	}
	s.RetryAt = time.Time{}
	return withWork(keepFailure(s, "the image is being downloaded and checked"), o, verb.Stage, key)
}

// pulling completes staging on a control plane: the container images that kubeadm needs
// must be present before any node begins. Like staging it also runs outside windows.
func pulling(s State, o Observation) (State, Action) {
	s = s.enter(v1alpha1.StepStaging, o)
	key, work := StageKey(o.Spec), o.Work[verb.Pull]
	if work.ended(key) && !work.OK { // one that succeeded is outdated
		return retryPreparation(s, o, work, v1alpha1.ReasonPullFailed, verb.Pull, key)
	}
	if s.Reason != v1alpha1.ReasonPullFailed || s.RetryAt.IsZero() {
		message := "the control plane's container images are being pulled"
		if missing := o.Host.ImagesMissing; len(missing) > 0 {
			message += fmt.Sprintf("; %s was on the node, and the kubelet has removed it: perhaps the disk is nearly full", missing[0])
		}
		s = s.withReason(v1alpha1.ReasonPullingImages, message)
	}
	if work.Running {
		return s, Action{}
	}
	s.RetryAt = time.Time{}
	return withWork(s, o, verb.Pull, key)
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
		return s, wakeAt(s.RetryAt)
	}
	return withWork(s, o, v, key)
}

// keepFailure keeps the reason of a failed preparation while a retry runs, so that it does
// not flap.
func keepFailure(s State, message string) State {
	if s.Reason != "" && s.Reason != v1alpha1.ReasonStaging && !s.RetryAt.IsZero() {
		return s
	}
	return s.withReason(v1alpha1.ReasonStaging, message)
}

const uninstallKey = "uninstall"

// unmanaged changes nothing on the node, but undoes what was changed on it before. It is
// called between attempts only.
func unmanaged(s State, o Observation) (State, Action) {
	s = s.withoutUpgrade()
	message := "no upgrade is requested"
	if o.GiveBack {
		message = "the node is not managed: nothing on it is changed"
	}
	s.RetryAt = time.Time{}
	if o.Host.Unsupported == nil {
		s = s.enter(v1alpha1.StepIdle, o).withReason(v1alpha1.ReasonNoUpgrade, message)
	} else {
		s = s.enter(v1alpha1.StepUnsupported, o).withReason(v1alpha1.ReasonUnsupported, o.Host.Unsupported.Text())
	}
	work := o.Work[verb.Uninstall]
	if !o.GiveBack || !o.Host.HasFiles || work.Running {
		return s, Action{}
	}
	if again := work.FinishedAt.Add(confRetry); !work.FinishedAt.After(o.Now) && o.Now.Before(again) {
		return s, wakeAt(again)
	}
	return withWork(s, o, verb.Uninstall, uninstallKey)
}
