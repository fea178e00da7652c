package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1client "k8s.io/client-go/kubernetes/typed/apps/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	strictjson "sigs.k8s.io/json"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/snapshot"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// snapshotKind is the kind of a saved snapshot. Another shape gets another name, so that
// a file of the old shape is refused as a whole.
const snapshotKind = "FleetSnapshot"

// snapshotFile is a snapshot as it is saved.
type snapshotFile struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	TakenAt    time.Time `json:"takenAt"`
	fleet.Snapshot
}

// loadSnapshot reads a saved snapshot.
func loadSnapshot(file string) (shot snapshotFile, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return shot, fmt.Errorf("reading a snapshot: %w; `kubectl upgrade plan --save-snapshot FILE` writes one", err)
	}
	strict, err := strictjson.UnmarshalStrict(text, &shot)
	if err != nil {
		return shot, fmt.Errorf("reading %s: it is no snapshot (%w); `kubectl upgrade plan --save-snapshot FILE` writes one", file, err)
	}
	if shot.APIVersion != v1alpha1.GroupVersion.String() || shot.Kind != snapshotKind || shot.TakenAt.IsZero() {
		return shot, fmt.Errorf("reading %s: it is no %s; `kubectl upgrade plan --save-snapshot FILE` writes one", file, snapshotKind)
	}
	if len(strict) > 0 {
		// A field that is not understood may be the one that holds a node.
		return shot, fmt.Errorf("reading %s: %w; another version of kubectl-upgrade wrote it, or it was changed", file, strict[0])
	}
	return shot, nil
}

// save writes the snapshot into a file that people can share: it has no managed fields,
// as nothing reads them, and no password.
func (shot snapshotFile) save(file string) error {
	text, err := json.MarshalIndent(shot, "", " ")
	if err != nil {
		return err
	}
	text = credentials.ReplaceAll(text, []byte("$1"))
	return os.WriteFile(file, append(text, '\n'), 0o600)
}

// credentials matches the user and password in an address.
var credentials = regexp.MustCompile(`(https?://)[^/@\s"]*@`)

// takeSnapshot reads the cluster with the rights of the user.
func (p *program) takeSnapshot(ctx context.Context) (shot snapshotFile, err error) {
	shot = snapshotFile{APIVersion: v1alpha1.GroupVersion.String(), Kind: snapshotKind, TakenAt: p.now().UTC().Truncate(time.Second)}
	reader, err := p.reader()
	if err != nil {
		return shot, err
	}
	access, err := p.cluster.ToRESTConfig()
	if err != nil {
		return shot, err
	}
	leases, err := coordinationv1client.NewForConfig(access)
	if err != nil {
		return shot, err
	}
	daemonSets, err := appsv1client.NewForConfig(access)
	if err != nil {
		return shot, err
	}
	shot.Snapshot, err = snapshot.Read(ctx, snapshot.Clients{Core: reader.core, DaemonSets: daemonSets, Leases: leases, Ours: reader.kinds})
	if apierrors.IsForbidden(err) {
		return shot, fmt.Errorf("%w; a plan takes what the coordinator reads: people who may read it can write it down with `kubectl upgrade plan --save-snapshot FILE`, for --snapshot FILE", err)
	}
	if err != nil {
		return shot, explain("reading the cluster", err)
	}
	shot.Source = p.readSource(ctx, shot.Policy, nil)
	return shot, nil
}
