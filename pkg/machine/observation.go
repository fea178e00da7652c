package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Observation is everything that is seen of a node at one moment.
type Observation struct {
	Now time.Time
	// WatchingSince is when this agent began to look. Deadlines do not run while
	// no agent looks: the node may have been without power for a night.
	WatchingSince time.Time

	// Managed reports whether there is a NodeUpgrade for this node. Without one
	// nothing is begun here.
	Managed bool
	Spec    v1alpha1.NodeUpgradeSpec
	Node    Node
	Slot    Slot

	// Host is what the node's own files say, gathered after the last work on
	// them ended. Nil: not known now, and HostProblem may say why.
	Host        *Host
	HostProblem string
	// Work is what became of each verb on the host.
	Work map[verb.Verb]Work
	// EtcdSnapshot is what the last verb.Snapshot left, where that ended well.
	EtcdSnapshot *v1alpha1.EtcdSnapshot

	// Gate is asked where NeedsGate says so. Nil: it was not asked.
	Gate *Gate
	// Health is asked where NeedsHealth says so. Nil: it was not asked.
	Health *Health
	// Drain is what the last round of draining left. Nil: there was none yet.
	Drain *Drain
	// RebootAskedAt is when this agent asked for the reboot. Zero: it did not.
	RebootAskedAt time.Time
	// RebootProblem is why the host refused the last request for it.
	RebootProblem string
}

// Node is what the Node object says.
type Node struct {
	Unschedulable bool
	// OurCordon is true where the mark says that the cordon is ours.
	OurCordon bool
	// SlotMark is the slot that the Node is marked with.
	SlotMark string
	Ready    bool
	// ReadySince is when the node became Ready, or stopped being it.
	ReadySince     time.Time
	KubeletVersion string
	// BootID that the kubelet reported: another one than the host's means that
	// the kubelet of this boot has not spoken yet.
	BootID string
}

// Slot is what the slots' Leases say of this node.
type Slot struct {
	// Reserved is true where a slot is kept for the node.
	Reserved bool
	// Held is the name of the slot that the node holds.
	Held string
}

// Host is what the node's files say. Versions are written v1.34.4.
type Host struct {
	// At is when this was asked for: it is no older.
	At                time.Time
	BootID            string
	Supported         bool
	UnsupportedReason string
	Installed         []string
	Active            string // what the next boot merges
	Merged            string // what this boot has merged
	KubeadmVersion    string // up to which kubeadm completed under our care, and static pods bear that out
	ControlPlane      bool
	// ControlPlaneVersion is the lowest version in the static pods' manifests.
	ControlPlaneVersion string
	ConfProblem         string
	// Armed is true where the node's own systemd-sysupdate could activate or
	// delete images.
	Armed bool
	// RebootRequired is true where the operating system asks for a reboot, for
	// a reason of its own; RebootReason is a sentence that says why. That Active
	// differs from Merged is another reason, and not among these.
	RebootRequired bool
	RebootReason   string
	// RefreshBlockers are the mounts that a refresh of the merged image would
	// break.
	RefreshBlockers []string
}

// Work is one kind of work on the host: what runs, or what came of the last.
type Work struct {
	Running bool
	// Unstarted is why it could not be started the last time. Zero: it could.
	Unstarted Unstarted
	// Key of the last request that ended. Empty: there was none.
	Key     string
	OK      bool
	Reason  v1alpha1.Reason // of each that is not OK
	Message string
	// Log is the end of what it printed.
	Log        string
	FinishedAt time.Time
}

// Unstarted is why the host could not be asked for work under that key.
type Unstarted struct {
	Key     string
	Reason  v1alpha1.Reason
	Message string
	// Again is when to try again.
	Again time.Time
}

// Gate is whether something may begin now. One that could not be asked is closed, with
// ReasonGateUnknown.
type Gate struct {
	Open    bool
	Reason  v1alpha1.Reason
	Message string
	Until   time.Time
}

// Health is whether the node, and on a control plane its static pods and etcd
// as a whole, are well after what was done to them.
type Health struct {
	OK      bool
	Message string
}

// Drain is how far a drain is.
type Drain struct {
	// At is when that round ended: one of an earlier attempt does not count.
	At time.Time
	// Left is how many pods are still to leave. Zero: the node is drained.
	Left int
	// Blocked is true where a pod cannot be evicted now.
	Blocked bool
	// Message names pods, and what blocks.
	Message string
}

// NeedsGate reports whether Next wants to know whether something may begin.
func NeedsGate(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepLocking, v1alpha1.StepCordoning, v1alpha1.StepDraining, v1alpha1.StepLastCheck:
		return true
	case v1alpha1.StepSnapshotting:
		return !o.Work[verb.Snapshot].Running
	case v1alpha1.StepKubeadm:
		return !o.Work[verb.Kubeadm].Running
	}
	return false
}

// NeedsHealth reports whether Next wants to know how the control plane is: before
// the slot is freed, in either pass.
func NeedsHealth(s State, o Observation) bool {
	switch s.Step {
	case v1alpha1.StepChecking:
		return true
	case v1alpha1.StepSettling:
		return !o.Now.Before(s.Since.Add(settle(o)))
	case v1alpha1.StepFailed:
		return s.Reason == v1alpha1.ReasonUnhealthy
	}
	return false
}
