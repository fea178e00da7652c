package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with its agent's word, and what was decided for it.
type node struct {
	fleet.Node
	spec     *v1alpha1.NodeUpgradeSpec   // as stored; never written to
	status   *v1alpha1.NodeUpgradeStatus // as stored; never written to
	abandon  *v1alpha1.Abandoned         // a person has abandoned it
	facts    *v1alpha1.NodeFacts         // nil: its agent has gathered none
	cause    fleet.Hold                  // what its agent says it is doing, or what went wrong
	managed  bool                        // the policy's nodeSelector matches it
	selected bool                        // the upgrade's nodeSelector matches it
	answered bool                        // the agent has seen the spec as it is stored
	slot     *fleet.Slot                 // reserved for or held by it
	group    int                         // its place in decider.groups
	phase    v1alpha1.Phase
	class    *class     // nil until the gate was asked
	retryAt  *time.Time // when it tries again by itself, having given up
	runs     versions
	reboot   bool // the upgrade is a Reboot, for which no version counts
	due      bool // and is to reboot the node

	decision Decision
	hold     fleet.Hold
	release  v1alpha1.Release
	kubeadm  v1alpha1.KubeadmCommand
	reserve  string // the slot to keep for it
}

// versions are what a node runs and has. The zero version is one that is not
// known.
type versions struct {
	kubelet, kubeadm, controlPlane, staged, pulled version.Version
	trouble                                        error // why the kubelet's is not known
}

// readStatus sorts out what the agent said.
func (n *node) readStatus() {
	n.phase = n.status.Step.Info().Phase
	n.cause.Reason, n.cause.Message = n.status.Cause()
	if at := n.status.Retry.Time; at != nil && n.status.Step == v1alpha1.StepWaiting {
		n.retryAt = &at.Time
	}
	n.runs.kubelet, n.runs.trouble = version.Parse(n.Kubelet)
	n.runs.kubeadm = parsed(n.status.Versions.Kubeadm)
	n.runs.controlPlane = parsed(n.status.Versions.ControlPlane)
	n.runs.staged = parsed(n.status.Versions.Staged)
	n.runs.pulled = parsed(n.status.Versions.Pulled)
}

// parsed is the zero version for what cannot be read.
func parsed(s string) version.Version {
	if s == "" {
		return version.Version{}
	}
	v, err := version.Parse(s)
	if err != nil {
		return version.Version{}
	}
	return v
}

// failed is a node that keeps its slot until somebody comes.
func (n *node) failed() bool { return n.phase == v1alpha1.PhaseStopped }

// unsupported is a node that is not counted.
func (n *node) unsupported() bool {
	return n.phase == v1alpha1.PhaseUnsupported || n.OS != "" && n.OS != "linux"
}

// abandoned is a node that a person gave up.
func (n *node) abandoned() bool { return n.abandon != nil }

// counts is whether the node is part of the upgrade.
func (n *node) counts() bool {
	return n.managed && n.selected && !n.unsupported() && !n.abandoned()
}

// busy is a node that is or may be out of service by our doing: it has begun,
// failed on the way, or holds a slot.
func (n *node) busy() bool {
	return n.phase == v1alpha1.PhaseRevocable || n.phase == v1alpha1.PhaseCommitted || n.failed() || n.Slot != "" || n.holds()
}

// holds is whether a slot says that the node has taken it.
func (n *node) holds() bool { return n.slot != nil && n.slot.Holder == n.Owner() }

// released is a node whose agent has been told to begin.
func (n *node) released() bool {
	return n.spec.Release.Lets()
}

// promised is a node that a slot is kept for, though it has not begun.
func (n *node) promised() bool { return n.slot != nil && !n.busy() }

// finishes is whether a node that is busy cannot, or must not, be called back:
// it passed its last check, or kubeadm runs on a control plane.
func (n *node) finishes() bool {
	kubeadm := n.status.Step == v1alpha1.StepKubeadm || n.status.Step == v1alpha1.StepChecking
	return n.phase == v1alpha1.PhaseCommitted || kubeadm && n.spec.Release == v1alpha1.ReleaseControlPlane
}

// kubeletAt is whether the kubelet runs v or a later one.
func (n *node) kubeletAt(v version.Version) bool { return atLeast(n.runs.kubelet, v) }

// kubeadmAt is whether pass 1 is over for this control-plane node.
func (n *node) kubeadmAt(v version.Version) bool {
	return n.reboot || atLeast(n.runs.kubeadm, v) || n.kubeletAt(v) && atLeast(n.runs.controlPlane, v)
}

// asWanted is whether every part of the node runs v or a later version; for a
// Reboot, whether none is due.
func (n *node) asWanted(v version.Version) bool {
	if n.reboot {
		return !n.due
	}
	return n.kubeletAt(v) && (!n.ControlPlane || n.kubeadmAt(v))
}

// stagedAt is whether the node needs no more bytes to reach v.
func (n *node) stagedAt(v version.Version) bool {
	return n.reboot || n.kubeletAt(v) || n.runs.staged == v && known(v)
}

// pulledAt is whether kubeadm finds the container images that it starts v's
// control plane with.
func (n *node) pulledAt(v version.Version) bool {
	return !n.ControlPlane || n.kubeadmAt(v) || n.runs.pulled == v && known(v)
}

// preparedAt is whether all that v needs lies on the node.
func (n *node) preparedAt(v version.Version) bool { return n.stagedAt(v) && n.pulledAt(v) }

// cannotStage reports whether the node's agent says that it cannot stage, or pull.
func (n *node) cannotStage() bool { return n.cause.Reason.Info().StopsStaging }

// unprepared says why a node that is not prepared is not.
func (n *node) unprepared(v version.Version, trouble fleet.Hold) fleet.Hold {
	switch {
	case n.cannotStage():
		return n.cause
	case n.status.Step == "":
		return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: "no agent has reported from this node yet"}
	case n.stagedAt(v):
		return fleet.Hold{Reason: v1alpha1.ReasonPullingImages, Message: fmt.Sprintf("the container images of %s are being pulled", v)}
	case trouble.Reason != "":
		return trouble
	}
	return fleet.Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("the image of %s is being staged", v)}
}

func known(v version.Version) bool { return v != version.Version{} }

// atLeast is whether a version that is known is v or a later one.
func atLeast(got, v version.Version) bool { return known(got) && !got.Less(v) }
