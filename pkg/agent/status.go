package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/staticpod"
)

const fieldManager = "node-agent"

var errNoNodeUpgrade = errors.New("the coordinator has not made a NodeUpgrade for this node yet")

// written is the status as this agent wrote it last, and to which object.
type written struct {
	uid        types.UID
	status     v1alpha1.NodeUpgradeStatus
	conditions []metav1.Condition
}

// persist writes the whole status where it changed: with server-side apply, a
// field that is left out is taken away.
func (a *Agent) persist(ctx context.Context, o machine.Observation) error {
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
	status.Conditions = conditions(a.written.conditions, a.state, o)
	if a.written.uid == nu.UID && equality.Semantic.DeepEqual(a.written.status, status) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, Status: status}
	if _, err := a.Upgrades.NodeUpgrades.Apply(ctx, out, fieldManager, "status"); err != nil {
		return fmt.Errorf("writing the status of NodeUpgrade %s: %w", a.Node, err)
	}
	a.written = written{uid: nu.UID, status: status, conditions: status.Conditions}
	return nil
}

// remember takes up what the last agent wrote. It is read live: a list that a
// watch begins with may be older than the last write, of the very step at which
// the node rebooted. It returns false when ctx ended before it was read.
func (a *Agent) remember(ctx context.Context) bool {
	for ctx.Err() == nil {
		nu, err := a.Upgrades.NodeUpgrades.Get(ctx, a.Node, metav1.GetOptions{})
		switch {
		case err == nil && ofAnother(nu, a.node()):
			return true // the coordinator is about to delete it
		case err == nil:
			a.state = stateOf(nu.Status)
			a.written.conditions = nu.Status.Conditions
			return true
		case apierrors.IsNotFound(err):
			return true
		}
		a.Log.WarnContext(ctx, "reading the last status", "node", a.Node, "error", err)
		sleep(ctx, afterError)
	}
	return false
}

// ofAnother is true for what a Node left behind that bore this one's name before:
// it may have failed, and this one has not even begun.
func ofAnother(nu *v1alpha1.NodeUpgrade, node *corev1.Node) bool {
	return node != nil && nu.OfAnother(node.UID)
}

// addFacts says what runs and what lies on the disk. What is not known now stays
// as it was told last: an agent that has just started knows nothing yet.
func (a *Agent) addFacts(status *v1alpha1.NodeUpgradeStatus, nu *v1alpha1.NodeUpgrade, o machine.Observation) {
	status.AgentVersion = a.Version
	status.KubeletVersion = o.Node.KubeletVersion
	status.Slot = o.Slot.Held
	last := &nu.Status
	if a.written.uid == nu.UID {
		last = &a.written.status
	}
	switch {
	case o.Host == nil:
		status.StagedVersion, status.PulledVersion = last.StagedVersion, last.PulledVersion
	case o.Spec.Type != v1alpha1.TypeReboot && o.Spec.Version != "" && machine.Staged(o):
		status.StagedVersion = o.Spec.Version
		if (o.Host.ControlPlane || a.labelled()) && machine.Pulled(o) {
			status.PulledVersion = o.Spec.Version
		}
	}
	facts := a.seen.facts
	if facts == nil {
		status.KubeadmVersion, status.ControlPlaneVersion = last.KubeadmVersion, last.ControlPlaneVersion
		status.ActiveVersion, status.Installed = last.ActiveVersion, last.Installed
		status.Architecture, status.BootID = last.Architecture, last.BootID
		status.RebootRequired, status.RebootReason = last.RebootRequired, last.RebootReason
		status.Facts = last.Facts
		return
	}
	status.KubeadmVersion = facts.Kubeadm.Version
	status.ControlPlaneVersion = lowest(facts.StaticPods)
	status.ActiveVersion = facts.Active
	status.Installed = facts.Installed
	status.Architecture = facts.Architecture
	status.BootID = facts.BootID
	status.RebootReason = rebootReason(*facts, a.engine.status)
	status.RebootRequired = status.RebootReason != ""
	status.Facts = toTell(last.Facts, a.nodeFacts(last.Facts), o.Now)
}

// labelled is whether the Node bears the control plane's label, be there static
// pods on it or not: the plan goes by the label.
func (a *Agent) labelled() bool {
	node := a.node()
	return node != nil && staticpod.OnControlPlane(node.Labels)
}

// statusOf writes a State, stateOf reads it. Times lose what is below a second
// but in steps, which keep microseconds.
func statusOf(s machine.State) v1alpha1.NodeUpgradeStatus {
	status := v1alpha1.NodeUpgradeStatus{
		Upgrade: s.Upgrade, Step: s.Step, Since: timeOf(s.Since),
		Reason: s.Reason, Message: s.Message, Until: timeOf(s.Until),
		Attempts: s.Attempts, Failures: s.Failures, LastError: s.LastError, RetryAt: timeOf(s.RetryAt),
		RebootedFrom: s.RebootedFrom, FromVersion: s.From,
		Method: s.Method, MethodMessage: s.MethodMessage,
		EtcdSnapshot: s.Snapshot, KubeadmLog: s.KubeadmLog,
	}
	for _, step := range s.Steps {
		t := v1alpha1.StepTime{Step: step.Step, StartedAt: metav1.NewMicroTime(step.StartedAt)}
		if !step.FinishedAt.IsZero() {
			finished := metav1.NewMicroTime(step.FinishedAt)
			t.FinishedAt = &finished
		}
		status.Steps = append(status.Steps, t)
	}
	return status
}

func stateOf(status v1alpha1.NodeUpgradeStatus) machine.State {
	s := machine.State{
		Upgrade: status.Upgrade, Step: status.Step, Since: instant(status.Since),
		Reason: status.Reason, Message: status.Message, Until: instant(status.Until),
		Attempts: status.Attempts, Failures: status.Failures, LastError: status.LastError, RetryAt: instant(status.RetryAt),
		RebootedFrom: status.RebootedFrom, From: status.FromVersion,
		Method: status.Method, MethodMessage: status.MethodMessage,
		Snapshot: status.EtcdSnapshot, KubeadmLog: status.KubeadmLog,
	}
	for _, step := range status.Steps {
		t := machine.StepTime{Step: step.Step, StartedAt: step.StartedAt.Time}
		if step.FinishedAt != nil {
			t.FinishedAt = step.FinishedAt.Time
		}
		s.Steps = append(s.Steps, t)
	}
	if last := len(s.Steps) - 1; last >= 0 && s.Steps[last].Step == s.Step && s.Steps[last].FinishedAt.IsZero() {
		// since has whole seconds only: a settle time that is counted from it
		// would be too short.
		s.Since = s.Steps[last].StartedAt
	}
	return s
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	whole := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &whole
}

func instant(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
