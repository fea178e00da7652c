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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

const fieldManager = "node-agent"

var errNoNodeUpgrade = errors.New("the coordinator has not created a NodeUpgrade for this node yet")

// writtenStatus is the status that this agent wrote last, and to which object.
type writtenStatus struct {
	uid    types.UID
	sent   v1alpha1.NodeUpgradeStatus
	status v1alpha1.NodeUpgradeStatus // as the API server stored it
	at     time.Time
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

// writeWithin is how soon a change is written for which no other program waits. Steps that
// only pass are written with the next one.
const writeWithin = time.Second

// mayWriteLater reports whether the status need not be written before the action. The
// coordinator waits for what a node says between attempts, or once it has failed. A round of
// evictions needs the step to be written, not what is left of the former round.
func (a *Agent) mayWriteLater(action machine.Action) bool {
	step := a.state.Step
	switch action.Do {
	case machine.DoNothing:
		return !machine.BetweenAttempts(step) && step.Info().Phase != v1alpha1.PhaseStopped
	case machine.DoDrain:
		return a.lastStatus.sent.Step == step
	}
	return false
}

// persist writes the whole status if it changed: server-side apply removes a field that is
// left out. problem is the error of another write that fails. A change that may be written
// later is written once it has lasted for writeWithin.
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
		a.Log.WarnContext(ctx, "the NodeUpgrade shows another status than was written: writing it again", "node", a.Node, "step", status.Step, "shows", nu.Status.Step)
	}
	if a.changedAt.IsZero() {
		a.changedAt = o.Now
	}
	if later && o.Now.Before(a.changedAt.Add(writeWithin)) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, Status: status}
	stored, err := a.Upgrades.NodeUpgrades.Apply(ctx, out, fieldManager, "status")
	if err != nil {
		return fmt.Errorf("writing the status of NodeUpgrade %s: %w", a.Node, err)
	}
	a.lastStatus, a.changedAt = writtenStatus{stored.UID, status, stored.Status, o.Now}, time.Time{}
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
	status.Slot = o.Slot.Held
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
