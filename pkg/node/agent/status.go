package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const fieldManager = "node-agent"

var errNoNodeUpgrade = errors.New("the coordinator has not created a NodeUpgrade for this node yet")

// writtenStatus is the status that this agent wrote last, and to which object.
type writtenStatus struct {
	uid    types.UID
	sent   v1alpha1.NodeUpgradeStatus
	status v1alpha1.NodeUpgradeStatus // as the API server stored it
	spec   v1alpha1.NodeUpgradeSpec   // as its answer shows it
	at     time.Time
	took   time.Duration
	// abandoned reports whether its answer shows that a person has abandoned the node.
	abandoned bool
}

// overwriteAfter is how long the watch may take to show what was written.
const overwriteAfter = 10 * time.Second

// overwritten reports whether the NodeUpgrade differs from what the API server stored for
// this agent a while ago. The node's former agent may have written last, a write that timed
// out may have arrived late, or etcd was restored. The coordinator would act on old status.
func (w writtenStatus) overwritten(nu *v1alpha1.NodeUpgrade, now time.Time) bool {
	return now.Sub(w.at) >= overwriteAfter && !equality.Semantic.DeepEqual(agentsPart(nu.Status), agentsPart(w.status))
}

// agentsPart returns what the agent owns of a NodeUpgrade's status.
func agentsPart(s v1alpha1.NodeUpgradeStatus) v1alpha1.NodeUpgradeStatus {
	s.HoldEndTime = nil
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionAdmitted
	})
	slices.SortFunc(s.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(a.Type, b.Type) })
	return s
}

// A change for which no other program waits is written once it has lasted for writeWithin, or as many times as
// long as the last write took: an API server with too much to do gets fewer writes. Steps that only pass are
// written with the next one.
const (
	writeWithin   = 2 * time.Second
	writeAtLatest = 5 * time.Second
	writeRatio    = 10
)

// writesWithin returns how soon such a change is written.
func (a *Agent) writesWithin() time.Duration {
	return min(max(writeWithin, writeRatio*a.lastStatus.took), writeAtLatest)
}

// answerCounts is how long an answer of the API server counts for what follows in the same reconcile.
const answerCounts = time.Second

// mayWriteLater reports whether the status need not be written before the action. The coordinator waits for
// what a node says between attempts, or once it has failed. It does not wait for what a node says while it works
// in service. Some actions are only repeated if the agent crashes before the status is written: the cordon, and
// rounds of evictions; the end of the guard's watch, and of the cordon, after any step of a node that comes back.
// A node that is cordoned though its status still says Locking begins its attempt again. One that must be the only
// one writes first, as the answer says whether a person has abandoned it. Only one that goes on hold needs to know
// later that it was uncordoned.
func (a *Agent) mayWriteLater(action machine.Action, o machine.Observation) bool {
	step, written := a.state.Step, a.lastStatus.sent.Step
	switch {
	case machine.WorksInService(step):
		return action.Do == machine.DoNothing || action.Do == machine.DoWork
	case action.Do == machine.DoNothing:
		return !machine.BetweenAttempts(step) && step.Info().Phase != v1alpha1.PhaseStopped
	case action.Do == machine.DoCordon:
		return written == v1alpha1.StepLocking && (o.Host == nil || !o.Host.OneAtATime)
	case action.Do == machine.DoDrain:
		return written == step || written == v1alpha1.StepCordoning || written == v1alpha1.StepLocking
	case action.Do == machine.DoUncordon && !o.Spec.HoldAfter, action.Verb == verb.Confirm:
		return comesBack(step) && comesBack(written)
	}
	return false
}

// comesBack reports whether a node in this step goes on to the end of its reboot, or of its kubelet's
// restart, and has its cordon until then.
func comesBack(step v1alpha1.Step) bool {
	switch step {
	case v1alpha1.StepRebooting, v1alpha1.StepRestarting, v1alpha1.StepVerifying, v1alpha1.StepSettling, v1alpha1.StepUncordoning:
		return true
	}
	return false
}

// persist writes the whole status if it changed: server-side apply removes a field that is
// left out. problem is the error of another write that fails. A change that may be written
// later is written once it has lasted for writesWithin.
func (a *Agent) persist(ctx context.Context, o machine.Observation, problem string, later bool) error {
	nu := a.nodeUpgrade()
	if a.state.Step == "" {
		return nil // nothing has been seen yet
	}
	if nu == nil {
		return errNoNodeUpgrade
	}
	status := statusOf(a.state)
	a.addFacts(&status, nu, o)
	status.ObservedGeneration = a.generation
	status.Conditions = conditions(a.lastStatus.status.Conditions, a.state, o, a.generation, problem)
	if a.lastStatus.uid == nu.UID && equality.Semantic.DeepEqual(a.lastStatus.sent, status) {
		if !a.lastStatus.overwritten(nu, o.Now) {
			a.changedAt = time.Time{}
			return nil
		}
		later = false
		a.Log.WarnContext(ctx, "the NodeUpgrade shows another status than was written: writing it again", "node", a.Node, "step", status.Step, "shows", nu.Status.Step)
	}
	if a.changedAt.IsZero() {
		a.changedAt = o.Now
	}
	if later && o.Now.Before(a.changedAt.Add(a.writesWithin())) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, Status: status}
	began := a.Now()
	stored, err := a.Upgrades.NodeUpgrades.Apply(ctx, out, fieldManager, "status")
	a.noteRefused("NodeUpgrade", err)
	if err != nil {
		return fmt.Errorf("writing the status of NodeUpgrade %s: %w", a.Node, err)
	}
	a.lastStatus, a.changedAt = writtenStatus{stored.UID, status, stored.Status, stored.Spec, o.Now, a.Now().Sub(began), stored.Abandoned != nil}, time.Time{}
	a.answered = true
	if stored.UID != nu.UID {
		// Apply on the status subresource does not check the UID.
		return fmt.Errorf("writing the status of NodeUpgrade %s: it was deleted and created again meanwhile, with a spec that this agent has not read", a.Node)
	}
	return nil
}

// loadState restores the State from the last agent's status. It reads live: a watch's first
// list may be older than the last write, with which the node rebooted. It returns false if
// ctx ended first.
func (a *Agent) loadState(ctx context.Context) bool {
	for ctx.Err() == nil {
		nu, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
		switch {
		case err == nil && ofFormerNode(nu, a.node()):
			return true // the coordinator is about to delete it
		case err == nil:
			a.state, a.generation = stateOf(nu.Status), max(0, nu.Status.ObservedGeneration)
			a.lastStatus.status.Conditions = nu.Status.Conditions
			return true
		case apierrors.IsNotFound(err):
			return true
		}
		a.Log.WarnContext(ctx, "reading the last status", "node", a.Node, "error", err)
		sleep(ctx, afterError)
	}
	return false
}

// ofFormerNode reports whether nu belongs to a former Node of this name.
func ofFormerNode(nu *v1alpha1.NodeUpgrade, node *corev1.Node) bool {
	return node != nil && !nu.OwnedBy(node.UID)
}

// addFacts adds the versions that run and that are on the disk. It keeps the last values of
// those that are not known, as after a restart of the agent.
func (a *Agent) addFacts(status *v1alpha1.NodeUpgradeStatus, nu *v1alpha1.NodeUpgrade, o machine.Observation) {
	status.AgentVersion = a.Version
	if status.Step != v1alpha1.StepIdle { // which is written before the slot is freed
		status.Slot = o.Slot.Held
	}
	last := &nu.Status
	if a.lastStatus.uid == nu.UID {
		last = &a.lastStatus.status
	}
	versions := &status.Versions
	versions.Kubelet = o.Node.KubeletVersion
	switch {
	case o.Host == nil:
		versions.Staged, versions.Pulled = last.Versions.Staged, last.Versions.Pulled
	case o.Spec.Type != v1alpha1.TypeReboot && o.Spec.Version != "" && machine.Staged(o):
		versions.Staged = o.Spec.Version
		if a.onControlPlane() && machine.Pulled(o) {
			versions.Pulled = o.Spec.Version
		}
	}
	facts := a.seen.facts
	if facts == nil {
		status.Unsupported = last.Unsupported
		versions.Kubeadm, versions.ControlPlane, versions.NextBoot = last.Versions.Kubeadm, last.Versions.ControlPlane, last.Versions.NextBoot
		status.Reboot.Required, status.Reboot.Reason = last.Reboot.Required, last.Reboot.Reason
		return
	}
	status.Unsupported = facts.UnsupportedReason
	versions.Kubeadm, versions.ControlPlane, versions.NextBoot = kubeadmVersion(*facts), lowest(facts.StaticPods), facts.Active
	status.Reboot.Reason = rebootReason(*facts, a.engine.status)
	status.Reboot.Required = status.Reboot.Reason != ""
}

// onControlPlane reports whether this node belongs to the control plane, as the plan decides it:
// by the Node's label, or by a kube-apiserver among the host's own manifests.
func (a *Agent) onControlPlane() bool {
	node, facts := a.node(), a.seen.facts
	return node != nil && fleet.HasControlPlaneLabel(node.Labels) || facts != nil && facts.ControlPlane
}

// statusOf writes a State, but for its reason and message, which are in the
// conditions. Times lose what is below a second but in steps, which keep
// microseconds.
func statusOf(s machine.State) v1alpha1.NodeUpgradeStatus {
	status := v1alpha1.NodeUpgradeStatus{
		Step: s.Step, StepStartTime: timeOf(s.Since), StepEndTime: timeOf(s.Until),
		Versions: v1alpha1.NodeVersions{From: s.From},
		Retry:    v1alpha1.Retry{Attempts: s.Attempts, Failures: s.Failures, Time: timeOf(s.RetryAt)},
		Reboot:   v1alpha1.NodeReboot{FromBootID: s.RebootedFrom, FromSoftReboots: s.FromSoftReboots},
		Method:   s.Method, MethodMessage: s.MethodMessage,
		AttachedVolumes: s.AttachedVolumes,
		EtcdSnapshot:    s.Snapshot, KubeadmLog: s.KubeadmLog, KubeletLog: s.KubeletLog,
	}
	if s.Upgrade.UID != "" {
		status.Upgrade = &s.Upgrade
	}
	for _, step := range s.Steps {
		t := v1alpha1.StepTime{Step: step.Step, StartTime: metav1.NewMicroTime(step.StartedAt)}
		if !step.FinishedAt.IsZero() {
			t.EndTime = ptr.To(metav1.NewMicroTime(step.FinishedAt))
		}
		status.Steps = append(status.Steps, t)
	}
	return status
}

// stateOf reads a State from the status that it was written to.
func stateOf(status v1alpha1.NodeUpgradeStatus) machine.State {
	s := machine.State{
		Upgrade: ptr.Deref(status.Upgrade, v1alpha1.UpgradeReference{}), From: status.Versions.From,
		Step: status.Step, Since: instant(status.StepStartTime), Until: instant(status.StepEndTime),
		Attempts: status.Retry.Attempts, Failures: status.Retry.Failures, RetryAt: instant(status.Retry.Time),
		RebootedFrom: status.Reboot.FromBootID, FromSoftReboots: status.Reboot.FromSoftReboots,
		Method: status.Method, MethodMessage: status.MethodMessage,
		AttachedVolumes: status.AttachedVolumes,
		Snapshot:        status.EtcdSnapshot, KubeadmLog: status.KubeadmLog, KubeletLog: status.KubeletLog,
	}
	s.Reason, s.Message = causeOf(status)
	for _, step := range status.Steps {
		t := machine.StepTime{Step: step.Step, StartedAt: step.StartTime.Time}
		if step.EndTime != nil {
			t.FinishedAt = step.EndTime.Time
		}
		s.Steps = append(s.Steps, t)
	}
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].Step == s.Step && s.Steps[last].FinishedAt.IsZero() {
		// stepStartTime has whole seconds only: a settle time that is counted from
		// it would be too short.
		s.Since = s.Steps[last].StartedAt
	}
	return s
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return ptr.To(metav1.NewTime(t.UTC().Truncate(time.Second)))
}

func instant(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// maxMessage is the API's limit on the message of a condition. A status with a longer one would
// never be written.
const maxMessage = 32768

// conditions returns the agent's conditions for a State. problem is the error of a write
// that fails, or empty.
//
//	the State is         UpToDate                       Reconciling             Stalled
//	stopped, unsupported False, its reason and message  absent                  True, its reason
//	any, a write fails   False, the write's problem     its reason and message  absent
//	up to date           True, its reason and message   absent                  absent
//	any other            False, its reason and message  its reason              absent
func conditions(before []metav1.Condition, s machine.State, o machine.Observation, generation int64, problem string) []metav1.Condition {
	var after []metav1.Condition
	set := func(kind string, status metav1.ConditionStatus, reason v1alpha1.Reason, message string) {
		if old := meta.FindStatusCondition(before, kind); old != nil {
			after = append(after, *old)
		}
		meta.SetStatusCondition(&after, metav1.Condition{
			Type: kind, Status: status, Reason: string(reason), Message: host.Clip(message, maxMessage),
			ObservedGeneration: generation, LastTransitionTime: *timeOf(o.Now),
		})
	}
	if managed, reason, message := management(o); o.Host != nil {
		set(v1alpha1.ConditionManaged, managed, v1alpha1.Reason(reason), message)
	} else if old := meta.FindStatusCondition(before, v1alpha1.ConditionManaged); old != nil {
		after = append(after, *old) // until the host can be read
	}
	// A step without a reason is that of a released node.
	reason := cmp.Or(s.Reason, v1alpha1.ReasonReleased)
	phase := s.Step.Info().Phase
	switch {
	case phase == v1alpha1.PhaseStopped || phase == v1alpha1.PhaseUnsupported:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, reason, s.Message)
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, "")
	case problem != "":
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonAPIWriteFailed, problem)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, s.Message)
	case reason == v1alpha1.ReasonUpToDate || reason == v1alpha1.ReasonNoUpgrade:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, reason, s.Message)
	default:
		set(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, reason, s.Message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, "")
	}
	return after
}

// management returns status, reason and message of the condition Managed.
func management(o machine.Observation) (status metav1.ConditionStatus, reason, message string) {
	switch work := o.Work[verb.Uninstall]; {
	case o.Managed:
		return metav1.ConditionTrue, v1alpha1.ManagedTakenOver, "the agent may change the node"
	case o.Host == nil || !o.Host.HasFiles:
		return metav1.ConditionFalse, v1alpha1.ManagedNothingLeft, "nothing of kubectl-upgrade is on the node"
	case work.StartFailure.Reason != "":
		return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, work.StartFailure.Message
	case !work.FinishedAt.IsZero() && !work.OK:
		return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, work.Message
	}
	return metav1.ConditionTrue, v1alpha1.ManagedGivingBack, "what kubectl-upgrade keeps on the node is removed as soon as no attempt is in progress"
}

// causeOf reads reason and message back from the conditions.
func causeOf(status v1alpha1.NodeUpgradeStatus) (reason v1alpha1.Reason, message string) {
	reason, message = status.Cause()
	if own := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReconciling); reason == v1alpha1.ReasonAPIWriteFailed && own != nil {
		reason, message = v1alpha1.Reason(own.Reason), own.Message
	}
	if reason == v1alpha1.ReasonReleased && message == "" {
		reason = ""
	}
	return reason, message
}

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
