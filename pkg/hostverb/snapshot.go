package hostverb

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var snapshot = define(Entry{
	Verb: verb.Snapshot,
	Help: "take a snapshot of etcd, and verify it",
	// etcd's database is 8 GiB at most, which a slow disk writes in a few minutes.
	Timeout:      15 * time.Minute,
	Failed:       v1alpha1.ReasonSnapshotFailed,
	ControlPlane: true,
}, snapshotArgs, etcd.Take)

func snapshotArgs(_ context.Context, o Input) (etcd.SnapshotArgs, error) {
	if o.Spec.Upgrade == nil {
		return etcd.SnapshotArgs{}, errors.New("a snapshot of etcd was requested without an upgrade")
	}
	return etcd.SnapshotArgs{Upgrade: o.Spec.Upgrade.Name}, nil
}
