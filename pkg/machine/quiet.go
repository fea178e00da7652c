package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// quiet chooses between Idle, Staging, Waiting and Unsupported: which of them it is
// follows from what is seen alone.
func quiet(s State, o Observation) (State, Action) {
	s = s.follow(o)
	if o.Node.Marked() || o.Slot.Held != "" {
		return resume(s, o)
	}
	if o.Spec.Upgrade == nil {
		s = s.forget()
	}
	switch {
	case !o.Host.Supported:
		return s.enter(v1alpha1.StepUnsupported, o).say(v1alpha1.ReasonUnsupported, o.Host.UnsupportedReason), Action{}
	case o.Host.Armed && mayDisarm(o):
		return s, run(verb.Disarm, disarmKey)
	case o.Spec.Upgrade == nil:
		return idle(s, o, v1alpha1.ReasonNoUpgrade, "no upgrade is asked for")
	case done(s, o):
		return idle(s, o, v1alpha1.ReasonUpToDate, upToDate(s, o))
	case !Staged(o):
		return staging(s, o)
	case !Pulled(o):
		return pulling(s, o)
	}
	return waiting(s, o)
}

// follow begins the upgrade that is asked for, where it is another one.
func (s State) follow(o Observation) State {
	if o.Spec.Upgrade != nil && !s.Follows(o.Spec) {
		return begin(*o.Spec.Upgrade, o.Node.KubeletVersion)
	}
	return s
}

const disarmKey = "disarm"

// mayDisarm leaves a while between one try and the next.
func mayDisarm(o Observation) bool {
	work := o.Work[verb.Disarm]
	ended := work.FinishedAt
	due := ended.After(o.Now) || !o.Now.Before(ended.Add(confLook))
	return o.Managed && !work.Running && !o.Work[verb.Stage].Running && due
}

func upToDate(s State, o Observation) string {
	switch {
	case o.Spec.Type != v1alpha1.TypeReboot:
		return "the node runs " + o.Node.KubeletVersion
	case rebooted(s, o):
		return "the node was rebooted"
	}
	return "no reboot is needed"
}

// idle says that all is well, unless the conf cannot be put right.
func idle(s State, o Observation, reason v1alpha1.Reason, message string) (State, Action) {
	var again Action
	if work := o.Work[verb.Disarm]; o.Host.Armed && work.answers(disarmKey) && !work.OK {
		again = wait(work.FinishedAt.Add(confLook))
		reason, message = work.Reason, "the node's own systemd-sysupdate may still activate an image: "+work.Message
	}
	s = s.enter(v1alpha1.StepIdle, o).say(reason, message)
	s.RetryAt = time.Time{}
	return s, again
}

func staging(s State, o Observation) (State, Action) {
	s = s.enter(v1alpha1.StepStaging, o)
	key, work := StageKey(o.Spec), o.Work[verb.Stage]
	switch {
	case o.Spec.Image == nil:
		return s.say(v1alpha1.ReasonNotOffered, "the upgrade names no image for this node"), Action{}
	case work.Running:
		return keepFailure(s, "the image is being downloaded and checked"), Action{}
	case work.answers(key) && !work.OK:
		return tryAgain(s, o, work, work.Reason, verb.Stage, key)
	case o.Host.ConfProblem != "" && o.Host.At.Before(s.Since):
		return s, wait(o.Now.Add(confLook)) // it may have been mended since
	case o.Host.ConfProblem != "":
		return s.say(v1alpha1.ReasonConfConflict, o.Host.ConfProblem), wait(o.Now.Add(confLook))
	}
	s.RetryAt = time.Time{}
	return start(keepFailure(s, "the image is being downloaded and checked"), o, verb.Stage, key)
}

// pulling ends staging on a control plane: what kubeadm starts must be there before
// any node begins. Like staging it is done outside windows too.
func pulling(s State, o Observation) (State, Action) {
	s = s.enter(v1alpha1.StepStaging, o)
	key, work := StageKey(o.Spec), o.Work[verb.Pull]
	if work.answers(key) {
		return tryAgain(s, o, work, v1alpha1.ReasonPullFailed, verb.Pull, key)
	}
	if s.Reason != v1alpha1.ReasonPullFailed || s.RetryAt.IsZero() {
		s = s.say(v1alpha1.ReasonPullingImages, "the control plane's container images are being pulled")
	}
	if work.Running {
		return s, Action{}
	}
	s.RetryAt = time.Time{}
	return start(s, o, verb.Pull, key)
}

// tryAgain tells of a preparation that failed, and has it done again after a
// while.
func tryAgain(s State, o Observation, failed Work, reason v1alpha1.Reason, v verb.Verb, key string) (State, Action) {
	s = s.say(reason, failed.Message)
	ended := failed.FinishedAt
	if ended.After(o.Now) { // by a clock that was ahead
		ended = s.Since
	}
	s.RetryAt = stageRetry(s, ended)
	if o.Now.Before(s.RetryAt) {
		return s, wait(s.RetryAt)
	}
	return start(s, o, v, key)
}

// keepFailure leaves the reason of a failed stage standing while the next try
// runs, so that it does not come and go.
func keepFailure(s State, message string) State {
	if s.Reason != "" && s.Reason != v1alpha1.ReasonStaging && !s.RetryAt.IsZero() {
		return s
	}
	return s.say(v1alpha1.ReasonStaging, message)
}

// gaveUpFor reports whether the reason stands for which the node gave up last: it
// says more than that the slot is gone with it.
func gaveUpFor(s State, o Observation) bool {
	last := len(s.Steps) - 2
	return last >= 0 && s.Steps[last].Step == v1alpha1.StepAborting && s.RetryAt.IsZero() &&
		s.Reason != "" && s.Reason != v1alpha1.ReasonAwaitingRelease &&
		(s.Until.IsZero() || o.Now.Before(s.Until))
}

// waiting tells why, and begins as soon as the node is let go.
func waiting(s State, o Observation) (State, Action) {
	failed := s.Step == v1alpha1.StepWaiting && o.Now.Before(s.RetryAt)
	if s.Reason == v1alpha1.ReasonSnapshotFailed && !o.Spec.EtcdSnapshot {
		failed = false // a person decided to do without
	}
	s = s.enter(v1alpha1.StepWaiting, o)
	switch {
	case failed:
		return s, wait(s.RetryAt)
	case withdrawn(s, o):
		s.RetryAt = time.Time{}
		return s.say(v1alpha1.ReasonAwaitingRelease, "ready to begin; waits for its release"), Action{}
	case o.Spec.Release == v1alpha1.ReleaseControlPlane && kubeadmDone(o):
		return s.say(v1alpha1.ReasonControlPlaneFirst, "this node's control plane is at "+o.Spec.Version+"; the others come before the kubelets"), Action{}
	case !o.Slot.Reserved && gaveUpFor(s, o):
		return s, wait(s.Until)
	case !o.Slot.Reserved:
		return s.say(v1alpha1.ReasonNoSlot, "released; waits for its slot"), Action{}
	}
	s.RetryAt = time.Time{}
	return s.enter(v1alpha1.StepLocking, o), Action{}
}
