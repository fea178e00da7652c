package verb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

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
