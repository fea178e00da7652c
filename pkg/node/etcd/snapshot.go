package etcd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/v3/snapshot"
	"go.uber.org/zap"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Take takes a snapshot from the node's own member, verifies it, renames it to its final
// name, and removes old ones. A second call takes another snapshot.
//
// Reason: SnapshotFailed.
func Take(ctx context.Context, l host.Layout, args verb.SnapshotArgs, log *host.Log) (*verb.SnapshotOutput, error) {
	out, err := take(ctx, l, args, log)
	if err != nil {
		return out, host.Fail(v1alpha1.ReasonSnapshotFailed, "taking a snapshot of etcd: %w", err)
	}
	return out, nil
}

func take(ctx context.Context, l host.Layout, args verb.SnapshotArgs, log *host.Log) (*verb.SnapshotOutput, error) {
	own, err := findMember(l)
	if err != nil {
		return nil, err
	}
	if own == nil {
		return nil, ErrNoMember
	}
	dir := l.At(host.SnapshotsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder for snapshots: %w", err)
	}
	if err := removePartial(l); err != nil {
		return nil, err
	}
	if err := own.checkRoom(ctx, l); err != nil {
		return nil, err
	}
	out := &verb.SnapshotOutput{TakenAt: time.Now().UTC()}
	name := fileName(out.TakenAt, args.Upgrade)
	part := filepath.Join(dir, partPrefix+name)
	config, err := own.config(ctx, l, own.endpoint)
	if err != nil {
		return nil, err
	}
	if out.EtcdVersion, err = snapshot.SaveWithVersion(ctx, zap.NewNop(), config, part); err != nil {
		return nil, fmt.Errorf("from %s: %w", own.endpoint, err)
	}
	if err := finish(part, filepath.Join(dir, name), out); err != nil {
		return nil, err
	}
	out.Path = filepath.Join(host.SnapshotsDir, name)
	log.Printf("%s: %d bytes of etcd %s, sha256 %s", out.Path, out.Bytes, out.EtcdVersion, out.SHA256)
	if out.Removed, err = prune(l, args.Upgrade); err != nil {
		// The snapshot itself succeeded.
		log.Printf("%v", err)
	}
	return out, nil
}

// finish verifies the snapshot and renames it to its final name.
func finish(part, path string, out *verb.SnapshotOutput) error {
	verified, err := Verify(part)
	if err != nil {
		return err
	}
	out.SHA256, out.Bytes = verified.SHA256, verified.Bytes
	if err := os.Chmod(part, 0o600); err != nil {
		return fmt.Errorf("making the snapshot readable by root only: %w", err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("renaming the snapshot: %w", err)
	}
	return host.SyncDir(filepath.Dir(path))
}

// checkRoom returns an error unless the free space is a fifth more than the size of the
// database: it grows while it is being sent, and etcd's data is often on the same disk.
func (m *member) checkRoom(ctx context.Context, l host.Layout) error {
	client, err := m.connect(ctx, l, m.endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status, err := client.Status(ctx, m.endpoint)
	if err != nil {
		return fmt.Errorf("reading the size of the database of etcd at %s: %w", m.endpoint, err)
	}
	free, err := l.FreeBytes(host.SnapshotsDir)
	if err != nil {
		return fmt.Errorf("reading the free space: %w", err)
	}
	if need := roomFor(status.DbSize); free < need {
		return fmt.Errorf("it needs %d MiB in %s, where %d MiB are free", (need>>20)+1, host.SnapshotsDir, free>>20)
	}
	return nil
}

func roomFor(database int64) int64 { return database + database/5 }
