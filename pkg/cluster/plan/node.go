package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node with what its agent reports, and its state with regard to the target.
// It is immutable: the cluster has copies of what was read, with a nodeState, and a prediction changes
// copies of these.
//
// Three sources say which slot the node has: SlotAnnotation is on the Node, lease is what
// the Leases say, and spec.Slot is what the coordinator wrote to its NodeUpgrade.
type node struct {
	clusterstate.Node
	spec      *v1alpha1.NodeUpgradeSpec   // as stored
	status    *v1alpha1.NodeUpgradeStatus // as stored
	facts     *v1alpha1.NodeFacts         // nil: its agent has gathered none
	abandoned *v1alpha1.Abandoned         // nil: it is not
	answered  bool                        // its agent has observed the stored generation
	admission *metav1.Condition           // what the coordinator wrote last; nil: nothing
	managed   bool                        // the policy's nodeSelector matches it
	labelled  bool                        // it has the control plane's label, which no node can give itself
	lease     *clusterstate.Slot          // the slot reserved for it, or held by it; nil: none
	tookSlot  bool                        // it took spec.Slot and has not freed it, whatever the Lease says
	stored    *v1alpha1.NodeUpgrade       // has spec, status and abandoned
	phase     v1alpha1.Phase
	cause     clusterstate.Hold // what its agent reports: what it is doing, or what went wrong
	retryAt   *time.Time        // when it retries after a failed attempt
	runs      versions

	nodeState
	leftBehind bool         // an upgrade that has upgraded all others yields to the active one because of it
	place      int          // in upgrade order
	group      int          // in cluster.groups
	class      *rules.Class // of nodes with the same windows; nil: it needs none
}

// versions are the versions that a node runs and has on disk. The zero version means
// unknown. They are pointers, because thousands of nodes run the same few.
type versions struct {
	kubelet, kubeadm, controlPlane, staged, pulled *version.Version
	problem                                        error // why the kubelet's is not known
}

// readStatus reads what the agent reports.
func (n *node) readStatus(read versionReader) {
	n.phase = n.status.Step.Info().Phase
	n.cause.Reason, n.cause.Message = n.status.Cause()
	n.admission = meta.FindStatusCondition(n.status.Conditions, v1alpha1.ConditionAdmitted)
	if at := n.status.Retry.Time; at != nil && n.status.Step == v1alpha1.StepWaiting {
		n.retryAt = &at.Time
	}
	if n.runs.kubelet = read.version(n.Kubelet); !known(*n.runs.kubelet) {
		_, n.runs.problem = version.Parse(n.Kubelet)
	}
	n.runs.kubeadm = read.version(n.status.Versions.Kubeadm)
	n.runs.controlPlane = read.version(n.status.Versions.ControlPlane)
	if n.ControlPlane && known(*n.runs.controlPlane) && n.runs.controlPlane.Less(*n.runs.kubeadm) {
		n.runs.kubeadm = n.runs.controlPlane // what runs prevails over what is recorded
	}
	n.runs.staged = read.version(n.status.Versions.Staged)
	n.runs.pulled = read.version(n.status.Versions.Pulled)
}

// failed reports whether the node stopped and keeps its slot until a person acts.
func (n *node) failed() bool { return n.phase == v1alpha1.PhaseStopped }

// isAtFault reports whether the node failed for a cause of its own, which says nothing about the
// version. Its agent says so: a version that it has not brought to this node has still not run on every node.
func (n *node) isAtFault() bool { return n.cause.Reason == v1alpha1.ReasonNodeAtFault }

// silent reports whether no agent has reported from the node yet.
func (n *node) silent() bool { return n.status.Step == "" }

// noAgent reports whether no agent can run on the node.
func (n *node) noAgent() bool { return n.OS != "" && n.OS != "linux" }

// eligible reports whether upgrades may concern the node.
func (n *node) eligible() bool { return n.managed && n.abandoned == nil && !n.noAgent() }

// busy reports whether an upgrade has, or may have, taken the node out of service: it
// has begun, has failed, or holds a slot.
func (n *node) busy() bool {
	return n.began() && !n.heldBack() && !n.locksInVain() || n.marked() || n.holdsLease()
}

// began reports whether the node's agent says that its attempt has begun, and has not ended or
// has failed.
func (n *node) began() bool {
	return n.phase == v1alpha1.PhaseRevocable || n.phase == v1alpha1.PhaseCommitted || n.failed()
}

// marked reports whether the Node's annotation names its own slot: the one reserved for
// it, or held by it. Any other value means nothing, because a kubelet may annotate its
// own Node.
func (n *node) marked() bool {
	return n.SlotAnnotation != "" && (n.SlotAnnotation == n.spec.Slot || n.holdsLease() && n.SlotAnnotation == n.lease.Name)
}

// mayKeep is MayKeepSlot, for a slot that a Lease says the node holds.
func (n *node) mayKeep(slot string) bool {
	return rules.MayKeepSlot(n.stored, n.facts != nil, n.SlotAnnotation, slot)
}

// holdsLease reports whether the node has taken its slot, according to the Lease.
func (n *node) holdsLease() bool { return n.lease != nil && n.lease.Holder == n.Owner() }

// reserved reports whether a slot is reserved for the node that it may take now, and the node has
// not begun.
func (n *node) reserved() bool {
	return n.lease != nil && n.lease.Holder == clusterstate.Owner{} && !n.busy()
}

// orderedSlot returns the slot that the order of a released node names, while its agent has not answered the order
// and no Lease is seen to be the node's; or an empty string.
func (n *node) orderedSlot() string {
	if !n.released() || n.answered || n.lease != nil || n.busy() {
		return ""
	}
	return n.spec.Slot
}

// endsFormerAttempt reports whether the node has not ended an attempt at an upgrade that its order does
// not name any more. The order names no slot then, though the node has one.
func (n *node) endsFormerAttempt() bool {
	former := n.status.Upgrade != nil && (n.spec.Upgrade == nil || n.spec.Upgrade.UID != n.status.Upgrade.UID)
	return former && n.began() && n.spec.Slot == ""
}

// withoutOrder reports whether the node is at work, or may be, and has no order, as when its NodeUpgrade was
// deleted: for what it works is not known, and it gets no order before it is between attempts. One that aborts its
// attempt, or has no slot to begin with, is on its way there.
func (n *node) withoutOrder() bool {
	atWork := n.began() && n.status.Step != v1alpha1.StepAborting && !n.locksInVain()
	return n.spec.Upgrade == nil && n.eligible() && !n.failed() && (atWork || n.silent() && n.holdsLease())
}

// oneAtATime reports whether the node uses only clusterstate.ControlPlaneSlot: by its label, or because
// it runs a kube-apiserver or a member of etcd.
func (n *node) oneAtATime() bool {
	return n.ControlPlane || n.facts.RunsEtcd()
}

// lacksLabel reports whether the node runs a kube-apiserver, as its agent reports, and has not the
// control plane's label. No upgrade to a version is possible then: the report may be false.
func (n *node) lacksLabel() bool { return n.ControlPlane && !n.labelled }

// released reports whether the node's NodeUpgrade.spec allows its agent to begin.
func (n *node) released() bool { return n.spec.Release.Granted() }

// mustFinish reports whether a busy node can no longer abort: it passed its last check, kubeadm runs on it,
// or it is up to date and about to free its slot.
func (n *node) mustFinish() bool {
	if n.status.Step == v1alpha1.StepIdle && n.upToDate && n.released() && n.holdsLease() {
		return true
	}
	kubeadm := n.status.Step == v1alpha1.StepKubeadm || n.status.Step == v1alpha1.StepChecking
	return n.phase == v1alpha1.PhaseCommitted || kubeadm && n.spec.Release == v1alpha1.ReleaseControlPlane
}

// cannotStage reports whether the agent cannot stage the image, or pull container
// images.
func (n *node) cannotStage() bool { return n.cause.Reason.Info().StopsStaging }

// nextBootDiffers reports whether a reboot would change the node's Kubernetes.
func (n *node) nextBootDiffers() bool {
	return n.status.Versions.NextBoot != "" && n.status.Versions.NextBoot != n.Kubelet
}

// nodeState is the state of a node with regard to the target.
type nodeState struct {
	concerned   bool            // the target may change it, now or later
	open        bool            // it is a candidate: it has not begun and is not done
	upToDate    bool            // every part runs the version
	kubeadmDone bool            // pass 1 is over for it
	staged      bool            // it has the image
	prepared    bool            // it has everything that the upgrade needs
	onHold      bool            // it has the hold label
	skew        error           // why Kubernetes does not allow its step
	method      v1alpha1.Method // how it is expected to merge the image
}

// stateOf returns the node's state. t may be nil.
func (t *target) stateOf(n *node) nodeState {
	if t == nil {
		return nodeState{concerned: t.concerns(n)}
	}
	s := nodeState{
		concerned: t.concerns(n), onHold: rules.Label(n.Labels).Holds(),
		kubeadmDone: t.kubeadmDone(n), upToDate: !t.stalled() && t.upToDate(n),
	}
	s.open = s.concerned && !s.upToDate && !n.busy() && (!n.released() || t.isFor(n.spec.Upgrade))
	s.staged = t.staged(n)
	pulled := !n.ControlPlane || t.certificates || s.kubeadmDone || *n.runs.pulled == t.to && known(t.to)
	s.prepared = s.staged && pulled
	if !s.upToDate {
		s.skew, s.method = t.skew(n), t.methodOf(n)
	}
	return s
}

// staged reports whether the node has the image, or needs none.
func (t *target) staged(n *node) bool {
	return t.versionless() && !n.silent() || t.kubeletDone(n) || *n.runs.staged == t.to && known(t.to)
}

// kubeletDone reports whether the kubelet runs the version or a later one, or for a Rollback an
// earlier one; for late nodes, none that they are taken back from. A Reboot, and a renewal of certificates, has no
// version.
func (t *target) kubeletDone(n *node) bool {
	if runs := *n.runs.kubelet; t.back {
		return known(runs) && (!t.to.Less(runs) || t.forLateNodes && !slices.Contains(t.taken, runs))
	}
	return !t.versionless() && atLeast(*n.runs.kubelet, t.to)
}

// kubeadmDone reports whether pass 1 is over for this control-plane node. Static pods that are newer
// than the version must not be taken back by kubeadm.
func (t *target) kubeadmDone(n *node) bool {
	if t.certificates {
		return !t.renewalDue(n)
	}
	if n.ControlPlane && known(t.to) && t.to.Less(*n.runs.controlPlane) {
		return true
	}
	return !t.runsKubeadmUpgrade() || atLeast(*n.runs.kubeadm, t.to) || t.kubeletDone(n) && atLeast(*n.runs.controlPlane, t.to)
}

// upToDate reports whether every part of the node runs the version or a later one;
// for a Reboot, whether none is due, and for certificates, whether no renewal is.
func (t *target) upToDate(n *node) bool {
	switch {
	case t.reboot:
		return !t.rebootDue(n)
	case t.certificates:
		return !t.renewalDue(n)
	}
	return t.kubeletDone(n) && (!n.ControlPlane || t.kubeadmDone(n))
}

// skew returns why Kubernetes does not allow this node's step: a kubelet must not skip
// a minor, and goes back within its minor only.
func (t *target) skew(n *node) error {
	switch {
	case t.reboot && n.nextBootDiffers():
		return fmt.Errorf("%s runs, and the next boot would bring %s: a Reboot changes no version; ask for an upgrade, or point the symlink back", n.Kubelet, n.status.Versions.NextBoot)
	case t.versionless():
		return nil
	case n.runs.problem != nil:
		return n.runs.problem
	case t.back:
		return version.CheckRollback(*n.runs.kubelet, t.to)
	}
	return version.CheckStep(*n.runs.kubelet, t.to)
}

// methodOf returns how the node is expected to merge the image. A node that was found to need
// a reboot in this upgrade reboots.
func (t *target) methodOf(n *node) v1alpha1.Method {
	if t.isFor(n.status.Upgrade) && n.status.Method == v1alpha1.MethodReboot {
		return v1alpha1.MethodReboot
	}
	h := clusterstate.MethodHost{RebootRequired: n.status.Reboot.Required && !n.nextBootDiffers(), RebootReason: n.status.Reboot.Message}
	if n.facts != nil {
		h.RefreshBlockers, h.SoftRebootBlocker = n.facts.RefreshBlockers, n.facts.SoftRebootBlocker.Text()
	}
	expected, _ := clusterstate.MethodOf(t.methodAsked(n), t.typeFor(n), n.Kubelet, t.Spec.Version, h)
	return expected
}
