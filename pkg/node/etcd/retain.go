package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

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
