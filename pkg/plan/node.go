package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with what its agent says, and where it stands on the way
// to what is asked for. Nothing in it changes once the cluster is built: a forecast
// copies a node that something happens to.
type node struct {
	fleet.Node
	spec      *v1alpha1.NodeUpgradeSpec   // as stored
	status    *v1alpha1.NodeUpgradeStatus // as stored
	facts     *v1alpha1.NodeFacts         // nil: its agent has gathered none
	abandoned *v1alpha1.Abandoned         // nil: it is not
	answered  bool                        // its agent has seen the NodeUpgrade as it is stored
	managed   bool                        // the policy's nodeSelector matches it
	slot      *fleet.Slot                 // reserved for it, or held by it; nil: none
	keepsSlot bool                        // it has taken the slot of its order, whatever the Lease says
	phase     v1alpha1.Phase
	cause     fleet.Hold // what its agent says it is doing, or what went wrong
	retryAt   *time.Time // when it tries again by itself after a failed attempt
	runs      versions

	standing
	place int    // in the order in which nodes go
	group int    // in cluster.groups
	class *class // of nodes with the same windows; nil: it does not go
}

// versions are what a node runs and has. The zero version is one that is not
// known. Nodes share them, as thousands run the same few.
type versions struct {
	kubelet, kubeadm, controlPlane, staged, pulled *version.Version
	problem                                        error // why the kubelet's is not known
}

// readStatus sorts out what the agent says.
func (n *node) readStatus(read versionReader) {
	n.phase = n.status.Step.Info().Phase
	n.cause.Reason, n.cause.Message = n.status.Cause()
	if at := n.status.Retry.Time; at != nil && n.status.Step == v1alpha1.StepWaiting {
		n.retryAt = &at.Time
	}
	if n.runs.kubelet = read.version(n.Kubelet); !known(*n.runs.kubelet) {
		_, n.runs.problem = version.Parse(n.Kubelet)
	}
	n.runs.kubeadm = read.version(n.status.Versions.Kubeadm)
	n.runs.controlPlane = read.version(n.status.Versions.ControlPlane)
	if n.ControlPlane && known(*n.runs.controlPlane) && n.runs.controlPlane.Less(*n.runs.kubeadm) {
		n.runs.kubeadm = n.runs.controlPlane // what runs decides, not what is recorded
	}
	n.runs.staged = read.version(n.status.Versions.Staged)
	n.runs.pulled = read.version(n.status.Versions.Pulled)
}

// failed reports whether the node stopped and keeps its slot until a person acts.
func (n *node) failed() bool { return n.phase == v1alpha1.PhaseStopped }

// unsupported reports whether Kubernetes does not come to the node as a sysext
// image.
func (n *node) unsupported() bool {
	return n.phase == v1alpha1.PhaseUnsupported || n.OS != "" && n.OS != "linux"
}

// ours reports whether upgrades may concern the node at all.
func (n *node) ours() bool { return n.managed && n.abandoned == nil && !n.unsupported() }

// busy reports whether the node is or may be out of service by our doing: it has
// begun, failed on the way, or holds a slot.
func (n *node) busy() bool {
	return n.phase == v1alpha1.PhaseRevocable || n.phase == v1alpha1.PhaseCommitted || n.failed() || n.marked() || n.holdsSlot()
}

// marked reports whether the Node bears the mark of its own slot: the one that the
// coordinator reserved for it, or that it holds. Any other says nothing, as a kubelet
// may annotate its own Node.
func (n *node) marked() bool {
	return n.Slot != "" && (n.Slot == n.spec.Slot || n.holdsSlot() && n.Slot == n.slot.Name)
}

// holdsSlot reports whether the node has taken its slot.
func (n *node) holdsSlot() bool { return n.slot != nil && n.slot.Holder == n.Owner() }

// promised reports whether a slot is kept for the node, which has not begun.
func (n *node) promised() bool { return n.slot != nil && !n.busy() }

// released reports whether the agent was told to begin.
func (n *node) released() bool { return n.spec.Release.Lets() }

// finishes reports whether a busy node cannot, or must not, be called back: it
// passed its last check, or kubeadm runs on a control plane.
func (n *node) finishes() bool {
	kubeadm := n.status.Step == v1alpha1.StepKubeadm || n.status.Step == v1alpha1.StepChecking
	return n.phase == v1alpha1.PhaseCommitted || kubeadm && n.spec.Release == v1alpha1.ReleaseControlPlane
}

// cannotStage reports whether the agent says that it cannot stage, or pull.
func (n *node) cannotStage() bool { return n.cause.Reason.Info().StopsStaging }

// nextBootDiffers reports whether a reboot would change the node's Kubernetes.
func (n *node) nextBootDiffers() bool {
	return n.status.Versions.NextBoot != "" && n.status.Versions.NextBoot != n.Kubelet
}
