package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	own, err := findMember(ctx, l)
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

// Verified describes a verified snapshot.
type Verified struct {
	// SHA256 of the whole file, in lower-case hex, as sha256sum prints it.
	SHA256 string
	// Bytes is the file's size.
	Bytes int64
}

// Verify compares a snapshot with the checksum that etcd appended when it sent it: the last
// 32 bytes are the SHA-256 of all before them. `etcdutl snapshot restore` does the same
// first.
func Verify(path string) (Verified, error) {
	file, err := os.Open(path)
	if err != nil {
		return Verified{}, fmt.Errorf("opening a snapshot: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Verified{}, fmt.Errorf("reading a snapshot: %w", err)
	}
	body := info.Size() - sha256.Size
	if body <= 0 {
		return Verified{}, fmt.Errorf("%s has %d bytes: it is no snapshot of etcd", path, info.Size())
	}
	content, whole := sha256.New(), sha256.New()
	if err := read(file, body, content, whole); err != nil {
		return Verified{}, err
	}
	var trailer bytes.Buffer
	if err := read(file, sha256.Size, &trailer, whole); err != nil {
		return Verified{}, err
	}
	if !bytes.Equal(trailer.Bytes(), content.Sum(nil)) {
		return Verified{}, fmt.Errorf("%s is damaged: its content does not have the SHA-256 at its end", path)
	}
	return Verified{SHA256: sum(whole), Bytes: info.Size()}, nil
}

func read(file io.Reader, bytes int64, into ...io.Writer) error {
	if _, err := io.CopyN(io.MultiWriter(into...), file, bytes); err != nil {
		return fmt.Errorf("reading a snapshot: %w", err)
	}
	return nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// kept is how many snapshots stay on a node, besides those of the current upgrade.
const kept = 3

const (
	namePrefix = "etcd-"
	nameSuffix = ".db"
	nameTime   = "20060102T150405.000Z" // sorts by time
	// partPrefix begins the names of files that are being written.
	partPrefix = ".part-"
)

// fileName returns etcd-TIME-UPGRADE.db. The name of a ClusterUpgrade may be longer than a
// file's, so it is cut.
func fileName(at time.Time, upgrade string) string {
	return namePrefix + at.UTC().Format(nameTime) + "-" + upgrade[:min(len(upgrade), 200)] + nameSuffix
}

// ofUpgrade reports whether fileName returned that name for the upgrade.
func ofUpgrade(name, upgrade string) bool {
	like := fileName(time.Time{}, upgrade)
	return len(name) == len(like) && strings.HasSuffix(name, like[len(namePrefix+nameTime):])
}

// snapshots returns the paths of the complete snapshots, newest first.
func snapshots(l host.Layout) ([]string, error) {
	paths, err := filepath.Glob(l.At(host.SnapshotsDir, namePrefix+"*"+nameSuffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths, nil
}

// prune removes all but the newest few snapshots and those of the current upgrade. It
// returns the paths of those that it removed.
func prune(l host.Layout, upgrade string) (removed []string, err error) {
	all, err := snapshots(l)
	if err != nil {
		return nil, err
	}
	for _, path := range all[min(len(all), kept):] {
		name := filepath.Base(path)
		if ofUpgrade(name, upgrade) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return removed, fmt.Errorf("removing an old snapshot: %w", err)
		}
		removed = append(removed, filepath.Join(host.SnapshotsDir, name))
	}
	return removed, nil
}

// removePartial removes the files of interrupted runs.
func removePartial(l host.Layout) error {
	partial, err := filepath.Glob(l.At(host.SnapshotsDir, partPrefix+"*"))
	if err != nil {
		return err
	}
	for _, path := range partial {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("removing an interrupted snapshot: %w", err)
		}
	}
	return nil
}
