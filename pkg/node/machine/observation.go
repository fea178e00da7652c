package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Observation is what the agent observes of a node at one moment.
type Observation struct {
	Now time.Time
	// WatchingSince is when this agent started. Deadlines do not run while no agent
	// runs: the node may have been powered off for a night.
	WatchingSince time.Time

	// Managed reports whether the node may be changed. If not, no attempt begins.
	Managed bool
	// GiveBack reports whether this node has a NodeUpgrade, and it says that the node is
	// not managed: what was changed on the node is undone.
	GiveBack bool
	Spec     v1alpha1.NodeUpgradeSpec
	Node     Node
	Slot     Slot

	// Host holds the facts of the node's own files, gathered after the last verb that
	// changes them ended. It is nil if they are not known; HostProblem may say why.
	Host        *Host
	HostProblem string
	// Work is the state of each verb on the host.
	Work map[verb.Verb]Work
	// EtcdSnapshot is the snapshot that the last verb.Snapshot took, if it succeeded.
	EtcdSnapshot *v1alpha1.EtcdSnapshot

	// Gate is set if NeedsGate is true. Nil means that it is not known yet.
	Gate *Gate
	// Health is set if NeedsHealth is true. Nil means that it is not known yet.
	Health *Health
	// Lease is the kubelet's, if NeedsLease is true. Nil means that it is not known yet.
	Lease *Lease
	// KubeletRefused is why the API server refuses what the kubelet writes to its Node, if
	// AwaitsKubelet is true. Empty: it does not, or that is not known.
	KubeletRefused string
	// Drain is the progress after the last round. Nil means that there was none yet.
	Drain *Drain
	// RebootAskedAt is when this agent requested the reboot. Zero means that it did
	// not.
	RebootAskedAt time.Time
	// RebootProblem is why the host refused the last request for it.
	RebootProblem string
}

// Node holds what Next needs of the Node object.
type Node struct {
	Unschedulable bool
	// OurCordon reports whether the Node's annotation says that the cordon is ours.
	OurCordon bool
	// SlotMark is the slot in the Node's annotation.
	SlotMark string
	Ready    bool
	// ReadySince is when Ready changed last.
	ReadySince     time.Time
	KubeletVersion string
	// BootID is the one that the kubelet reported. If it differs from the host's, the
	// kubelet of this boot has not reported yet.
	BootID string
}

// Lease is the one that the kubelet renews while it works, every quarter of its duration. The
// node's Ready condition outlives a kubelet by most of a minute.
type Lease struct {
	// RenewedAt is when the kubelet did so last, by the node's own clock, and Lasts for how long
	// it then counts.
	RenewedAt time.Time
	Lasts     time.Duration
	// ReadSince is since when each attempt to read it has succeeded. Zero: the last one failed.
	ReadSince time.Time
}

// Slot is this node's part in the slots' Leases.
type Slot struct {
	// Reserved is the name of the slot that is reserved for the node, and that no other node
	// holds. Held is the name of the slot that the node holds.
	Reserved, Held string
}

// Host holds facts of the node's files. Versions have the form v1.34.4.
type Host struct {
	// At is when the facts were requested: they are no older.
	At          time.Time
	BootID      string
	SoftReboots int32 // in this boot
	// SoftRebootProblem is why the node cannot be soft-rebooted. Empty: it can.
	SoftRebootProblem string
	Supported         bool
	UnsupportedReason string
	Installed         []string
	Active            string // what the symlink points to; empty: there is none
	Merged            string // what this boot has merged
	MissingImage      string // where the image of Merged should be, if it is not on the disk; empty: it is
	KubeadmVersion    string // the last version that kubeadm completed, confirmed by the static pods
	ControlPlane      bool
	// OneAtATime reports whether the node runs a kube-apiserver or a member of etcd, by its own
	// files: it takes no slot but fleet.ControlPlaneSlot, whatever its Node's labels are.
	OneAtATime bool
	// ControlPlaneVersion is the lowest version in the static pods' manifests.
	ControlPlaneVersion string
	ConfProblem         string
	// KubeletProblem is what the kubelet's own health endpoint, asked on the host, shows to be
	// wrong. Empty: nothing.
	KubeletProblem string
	// Armed reports whether the node's own systemd-sysupdate could activate or
	// delete images.
	Armed bool
	// RebootRequired reports whether the operating system requires a reboot, and
	// RebootReason why. A difference between Active and Merged does not count.
	RebootRequired bool
	RebootReason   string
	// RefreshBlockers are the mounts that a refresh of the merged image would
	// break.
	RefreshBlockers []string
	// HasFiles reports whether kubectl-upgrade keeps files on the node.
	HasFiles bool
	// Guarded reports whether the guard may still return the node to its former version.
	Guarded bool
	// Rollback is the guard's last rollback since the last activation, or nil.
	Rollback *Rollback
}

// Rollback is what the guard did.
type Rollback struct {
	// Upgrade is the UID of the ClusterUpgrade that was rolled back.
	Upgrade string
	// From is the version that the node returned to, To the one that it returned from.
	From, To string
	Finished bool
	// Impossible reports whether the guard ended without returning the node.
	Impossible bool
	// Message says what was wrong with To.
	Message string
	// Log is the end of the kubelet's journal.
	Log string
}

// Work is the state of one verb on the host: whether it runs, and its last result.
type Work struct {
	Running bool
	// StartFailure is why the last start failed. Zero means that it did not.
	StartFailure StartFailure
	// Key is that of the last run that ended. Empty means that there was none.
	Key     string
	OK      bool
	Reason  v1alpha1.Reason // set unless OK
	Message string
	// Log is the end of its output.
	Log        string
	FinishedAt time.Time
}

// StartFailure is why a verb could not be started for a key.
type StartFailure struct {
	Key     string
	Reason  v1alpha1.Reason
	Message string
	// RetryAt is when to retry.
	RetryAt time.Time
}

// Gate reports whether a disruptive action may begin now. A gate that could not be read
// is closed, with ReasonGateUnknown.
type Gate struct {
	Open    bool
	Reason  v1alpha1.Reason
	Message string
	Until   time.Time
}

// Health reports whether the node is healthy, and on a control plane its static pods and
// etcd too.
type Health struct {
	OK      bool
	Message string
}

// Drain is the progress of a drain.
type Drain struct {
	// At is when the round ended. A round of an earlier attempt does not count.
	At time.Time
	// Left is how many pods are left to evict. Zero means that the node is drained.
	Left int
	// Blocked reports whether a pod cannot be evicted now.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
}
