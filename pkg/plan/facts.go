package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with its agent's word, and what was decided for it.
type node struct {
	Node
	spec     *v1alpha1.NodeUpgradeSpec   // as stored; never written to
	status   *v1alpha1.NodeUpgradeStatus // as stored; never written to
	abandon  string                      // a person's reason for giving it up
	answered bool                        // the agent has seen the spec as it is stored
	slot     *Slot                       // reserved for or held by it
	group    int                         // its place in decider.groups
	phase    phase
	class    *class     // nil until the gate was asked
	retryAt  *time.Time // when it tries again by itself, having given up
	runs     versions
	reboot   bool // the upgrade is a Reboot, for which no version counts
	due      bool // and is to reboot the node

	decision Decision
	hold     Hold
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
	n.phase = phases[n.status.Step]
	if at := n.status.RetryAt; at != nil && n.status.Step == v1alpha1.StepWaiting {
		n.retryAt = &at.Time
	}
	n.runs.kubelet, n.runs.trouble = version.Parse(n.Kubelet)
	n.runs.kubeadm = parsed(n.status.KubeadmVersion)
	n.runs.controlPlane = parsed(n.status.ControlPlaneVersion)
	n.runs.staged = parsed(n.status.StagedVersion)
	n.runs.pulled = parsed(n.status.PulledVersion)
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

// phase sorts the steps by what a plan may do about them.
type phase int

const (
	resting    phase = iota // in service
	away                    // has begun, and may still give up
	committed               // finishes whatever happens
	failed                  // keeps its slot until somebody comes
	impossible              // not a node of ours
)

// phases of the steps that are not resting.
var phases = map[v1alpha1.Step]phase{
	v1alpha1.StepLocking: away, v1alpha1.StepSnapshotting: away, v1alpha1.StepKubeadm: away, v1alpha1.StepChecking: away,
	v1alpha1.StepCordoning: away, v1alpha1.StepDraining: away, v1alpha1.StepLastCheck: away,
	v1alpha1.StepAborting: away,

	v1alpha1.StepActivating: committed, v1alpha1.StepRebooting: committed, v1alpha1.StepRestarting: committed, v1alpha1.StepVerifying: committed,
	v1alpha1.StepSettling: committed, v1alpha1.StepUncordoning: committed, v1alpha1.StepUnlocking: committed,

	v1alpha1.StepFailed: failed, v1alpha1.StepRolledBack: failed,
	v1alpha1.StepUnsupported: impossible,
}

// failed is a node that keeps its slot until somebody comes.
func (n *node) failed() bool { return n.phase == failed }

// unsupported is a node that is not counted.
func (n *node) unsupported() bool {
	return n.phase == impossible || n.OS != "" && n.OS != "linux"
}

// abandoned is a node that a person gave up.
func (n *node) abandoned() bool { return n.abandon != "" }

// counts is whether the node is part of the upgrade.
func (n *node) counts() bool { return !n.unsupported() && n.abandon == "" }

// busy is a node that is or may be out of service by our doing: it has begun,
// failed on the way, or holds a slot.
func (n *node) busy() bool {
	return n.phase == away || n.phase == committed || n.phase == failed || n.Slot != "" || n.holds()
}

// holds is whether a slot says that the node has taken it.
func (n *node) holds() bool { return n.slot != nil && n.slot.Holder == n.Owner() }

// released is a node whose agent has been told to begin.
func (n *node) released() bool {
	return n.spec.Release == v1alpha1.ReleaseControlPlane || n.spec.Release == v1alpha1.ReleaseNode
}

// promised is a node that a slot is kept for, though it has not begun.
func (n *node) promised() bool { return n.slot != nil && !n.busy() }

// finishes is whether a node that is busy cannot, or must not, be called back:
// it passed its last check, or kubeadm runs on a control plane.
func (n *node) finishes() bool {
	kubeadm := n.status.Step == v1alpha1.StepKubeadm || n.status.Step == v1alpha1.StepChecking
	return n.phase == committed || kubeadm && n.spec.Release == v1alpha1.ReleaseControlPlane
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

// stageErrors are what an agent says when it cannot stage, or pull.
var stageErrors = map[v1alpha1.Reason]bool{
	v1alpha1.ReasonHashMismatch: true, v1alpha1.ReasonContentMismatch: true, v1alpha1.ReasonConfConflict: true,
	v1alpha1.ReasonDiskFull: true, v1alpha1.ReasonStageFailed: true, v1alpha1.ReasonHostUnreachable: true,
	v1alpha1.ReasonSourceUnavailable: true, v1alpha1.ReasonNotOffered: true, v1alpha1.ReasonPullFailed: true,
}

// unprepared says why a node that is not prepared is not.
func (n *node) unprepared(v version.Version, trouble Hold) Hold {
	switch {
	case stageErrors[n.status.Reason]:
		return Hold{Reason: n.status.Reason, Message: n.status.Message}
	case n.status.Step == "":
		return Hold{Reason: v1alpha1.ReasonNotStaged, Message: "no agent has reported from this node yet"}
	case n.stagedAt(v):
		return Hold{Reason: v1alpha1.ReasonPullingImages, Message: fmt.Sprintf("the container images of %s are being pulled", v)}
	case trouble.Reason != "":
		return trouble
	}
	return Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("the image of %s is being staged", v)}
}

func known(v version.Version) bool { return v != version.Version{} }

// atLeast is whether a version that is known is v or a later one.
func atLeast(got, v version.Version) bool { return known(got) && !got.Less(v) }
