package verb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// StageArgs are the arguments of Stage.
type StageArgs struct {
	// Version such as v1.34.4.
	Version string `json:"version"`
	// URL of the image file; the index SHA256SUMS is in the same folder.
	URL string `json:"url"`
	// SHA256 of the file in lower-case hex, as fixed at the trigger.
	SHA256 string `json:"sha256"`
	// Keyring has the armored OpenPGP public keys that may sign the index. Empty
	// means that no signature is needed.
	Keyring string `json:"keyring,omitempty"`
}

// PullArgs are the arguments of Pull.
type PullArgs struct {
	// Version such as v1.35.4.
	Version string `json:"version"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
	// ClusterConfiguration is the one in the ConfigMap kubeadm-config. It names the
	// image registry.
	ClusterConfiguration string `json:"clusterConfiguration"`
}

// KubeadmArgs are the arguments of Kubeadm.
type KubeadmArgs struct {
	// Version such as v1.34.4.
	Version string                  `json:"version"`
	Command v1alpha1.KubeadmCommand `json:"command"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
}

// ActivateArgs are the arguments of Activate.
type ActivateArgs struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
	// Upgrade is the UID of the ClusterUpgrade.
	Upgrade string `json:"upgrade"`
	// Method is how the image will be merged.
	Method v1alpha1.Method `json:"method"`
	// SoftReboots is how many soft reboots there were in this boot.
	SoftReboots int32 `json:"softReboots,omitempty"`
	// Back reports whether the node is taken back to a former version: then it gets the kubelet's
	// files with which it ran that, if they were kept.
	Back bool `json:"back,omitempty"`
	// GuardWithin is how long the new kubelet may take to become healthy, see package
	// guard. Zero means sysupdate.DefaultGuardWithin.
	GuardWithin time.Duration `json:"guardWithin,omitempty"`
}

// RestartArgs are the arguments of Restart.
type RestartArgs struct {
	Version string `json:"version"`
}

// SnapshotArgs are the arguments of Snapshot.
type SnapshotArgs struct {
	// Upgrade is the name of the ClusterUpgrade that the snapshot is for.
	Upgrade string `json:"upgrade"`
}

// SnapshotOutput is the output of Snapshot.
type SnapshotOutput struct {
	// Path on the node, in host.SnapshotsDir.
	Path string `json:"path"`
	// SHA256 of the file, as sha256sum prints it.
	SHA256  string    `json:"sha256"`
	Bytes   int64     `json:"bytes"`
	TakenAt time.Time `json:"takenAt"`
	// EtcdVersion is the version of the member, such as 3.6.5.
	EtcdVersion string `json:"etcdVersion,omitempty"`
	// Removed are older snapshots that were removed.
	Removed []string `json:"removed,omitempty"`
}

// EtcdOutput is the output of Etcd.
type EtcdOutput struct {
	// Etcd is nil on a node without a member.
	Etcd *v1alpha1.EtcdFacts `json:"etcd,omitempty"`
}
