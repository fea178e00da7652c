//go:build e2e

package e2e

import (
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// etcdSnapshot is where snapshotEtcd puts the snapshot, on cp1.
const etcdSnapshot = "/var/lib/etcd/fault.db"

// snapshotEtcd takes a snapshot of the only member.
var snapshotEtcd = kubectl("-n", "kube-system", "exec", "etcd-cp1", "--", "etcdctl", "--endpoints", "https://127.0.0.1:2379",
	"--cacert", "/etc/kubernetes/pki/etcd/ca.crt", "--cert", "/etc/kubernetes/pki/etcd/server.crt", "--key", "/etc/kubernetes/pki/etcd/server.key",
	"snapshot", "save", etcdSnapshot)

// restoreEtcd restores it with the commands of docs/rollback.md.
func restoreEtcd(f *faultRun) error {
	const aside = "/root/fault.db"
	if _, err := f.Exec(f.ctx, "cp1", "mv", etcdSnapshot, aside); err != nil {
		return err
	}
	sum, err := f.Exec(f.ctx, "cp1", "sha256sum", aside)
	if err != nil {
		return err
	}
	return f.RestoreEtcd(f.ctx, f.root, v1alpha1.EtcdSnapshot{Node: "cp1", Path: aside, Digest: v1alpha1.DigestOf(sum[:64])}, "cp1")
}
