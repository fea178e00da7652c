package hostverb

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var snapshot = Entry{
	Verb: verb.Snapshot,
	Help: "take a snapshot of etcd, and verify it",
	// etcd's database is 8 GiB at most, which a slow disk writes in a few minutes.
	Timeout:      15 * time.Minute,
	Failed:       v1alpha1.ReasonSnapshotFailed,
	ControlPlane: true,
	Args:         args(snapshotArgs),
}

func snapshotArgs(_ context.Context, o Input) (verb.SnapshotArgs, error) {
	if o.Spec.Upgrade == nil {
		return verb.SnapshotArgs{}, errors.New("a snapshot of etcd was requested without an upgrade")
	}
	return verb.SnapshotArgs{Upgrade: o.Spec.Upgrade.Name}, nil
}
