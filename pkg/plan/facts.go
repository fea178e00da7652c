package plan

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// node is a Node together with its agent's word, and what was decided for it.
type node struct {
	Node
	spec    v1alpha1.NodeUpgradeSpec
	status  v1alpha1.NodeUpgradeStatus
	abandon string // a person's reason for giving it up
	slot    *Slot  // reserved for or held by it
	group   int    // its place in decider.groups

	decision Decision
	hold     Hold
	release  v1alpha1.Release
	kubeadm  v1alpha1.KubeadmCommand
	reserve  string // the slot to keep for it
}

// away are the steps of a node that has begun and may still give up.
var away = map[v1alpha1.Step]bool{
	v1alpha1.StepLocking: true, v1alpha1.StepKubeadm: true, v1alpha1.StepChecking: true,
	v1alpha1.StepCordoning: true, v1alpha1.StepDraining: true, v1alpha1.StepLastCheck: true,
	v1alpha1.StepAborting: true,
}

// committed are the steps of a node that finishes whatever happens.
var committed = map[v1alpha1.Step]bool{
	v1alpha1.StepActivating: true, v1alpha1.StepRebooting: true, v1alpha1.StepVerifying: true,
	v1alpha1.StepSettling: true, v1alpha1.StepUncordoning: true, v1alpha1.StepUnlocking: true,
}

// failed is a node that keeps its slot until somebody comes.
func (n *node) failed() bool {
	return n.status.Step == v1alpha1.StepFailed || n.status.Step == v1alpha1.StepRolledBack
}

// unsupported is a node that is not counted.
func (n *node) unsupported() bool {
	return n.OS != "" && n.OS != "linux" || n.status.Step == v1alpha1.StepUnsupported
}

// counts is whether the node is part of the upgrade.
func (n *node) counts() bool { return !n.unsupported() && n.abandon == "" }

// busy is a node that is or may be out of service by our doing: it has begun,
// failed on the way, or holds a slot.
func (n *node) busy() bool {
	return away[n.status.Step] || committed[n.status.Step] || n.failed() ||
		n.Slot != "" || n.slot != nil && n.slot.Holder == n.Owner()
}

// released is a node whose agent has been told to begin.
func (n *node) released() bool {
	return n.spec.Release == v1alpha1.ReleaseControlPlane || n.spec.Release == v1alpha1.ReleaseNode
}

// promised is a node that a slot is kept for, though it has not begun.
func (n *node) promised() bool { return !n.busy() && n.slot != nil }

// finishes is whether a node that is busy cannot, or must not, be called back:
// it passed its last check, or kubeadm runs on a control plane.
func (n *node) finishes() bool {
	if n.spec.Release == v1alpha1.ReleaseControlPlane {
		return n.status.Step == v1alpha1.StepKubeadm || n.status.Step == v1alpha1.StepChecking || committed[n.status.Step]
	}
	return committed[n.status.Step]
}

// kubeletAt is whether the kubelet runs v or a later one.
func (n *node) kubeletAt(v version.Version) bool { return atLeast(n.Kubelet, v) }

// kubeadmAt is whether pass 1 is over for this control-plane node.
func (n *node) kubeadmAt(v version.Version) bool {
	return atLeast(n.status.KubeadmVersion, v) || n.kubeletAt(v) && atLeast(n.status.ControlPlaneVersion, v)
}

// asWanted is whether every part of the node runs v or a later version.
func (n *node) asWanted(v version.Version) bool {
	return n.kubeletAt(v) && (!n.ControlPlane || n.kubeadmAt(v))
}

// stagedAt is whether the node needs no more bytes to reach v.
func (n *node) stagedAt(v version.Version) bool {
	return n.kubeletAt(v) || n.status.StagedVersion == v.String()
}

// stageErrors are what an agent says when it cannot stage.
var stageErrors = map[v1alpha1.Reason]bool{
	v1alpha1.ReasonHashMismatch: true, v1alpha1.ReasonContentMismatch: true, v1alpha1.ReasonConfConflict: true,
	v1alpha1.ReasonDiskFull: true, v1alpha1.ReasonStageFailed: true, v1alpha1.ReasonHostUnreachable: true,
	v1alpha1.ReasonSourceUnavailable: true, v1alpha1.ReasonNotOffered: true,
}

// unstaged says why a node that is not staged is not.
func (n *node) unstaged(v version.Version, trouble Hold) Hold {
	switch {
	case stageErrors[n.status.Reason]:
		return Hold{Reason: n.status.Reason, Message: n.status.Message}
	case n.status.Step == "":
		return Hold{Reason: v1alpha1.ReasonNotStaged, Message: "no agent has reported from this node yet"}
	case trouble.Reason != "":
		return trouble
	}
	return Hold{Reason: v1alpha1.ReasonNotStaged, Message: fmt.Sprintf("the image of %s is being staged", v)}
}

func atLeast(s string, v version.Version) bool {
	got, err := version.Parse(s)
	return err == nil && !got.Less(v)
}
