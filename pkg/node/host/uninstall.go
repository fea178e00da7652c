package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// runDir has files of one boot, and the mount points of verbs.
const runDir = "/run/kubectl-upgrade"

// HasFiles reports whether kubectl-upgrade keeps files on the node that the verb
// "uninstall" removes.
func (l Layout) HasFiles() bool {
	for _, path := range []string{Root, KeptDir, guardWants, GuardStartFile} {
		if _, err := os.Lstat(l.At(path)); err == nil {
			return true
		}
	}
	return !l.masked(guardUnitFile) && l.exists(guardUnitFile)
}

// StopVerbs stops the units of the interruptible verbs. It fails if one of the others runs.
func StopVerbs(ctx context.Context, log *Log, run Runner, interruptible, others []verb.Verb) error {
	for _, v := range others {
		// It fails with status 3 unless the unit is active.
		if state, _ := run(ctx, log, "systemctl", "is-active", Unit(v)); strings.TrimSpace(state) == "active" {
			return fmt.Errorf("%s is running: the node is being upgraded", Unit(v))
		}
	}
	for _, v := range interruptible {
		if state, _ := run(ctx, log, "systemctl", "is-active", Unit(v)); strings.TrimSpace(state) != "active" {
			continue
		}
		if _, err := run(ctx, log, "systemctl", "stop", Unit(v)); err != nil {
			return fmt.Errorf("stopping %s: %w", Unit(v), err)
		}
	}
	return nil
}

// Uninstall removes what kubectl-upgrade keeps on the node, but for snapshots of etcd, which
// a person may need to restore the cluster. The folder that they are in is removed if it is
// empty.
func (l Layout) Uninstall(ctx context.Context, log *Log, run Runner) error {
	if err := l.DisarmGuard(); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"reset-failed", "kubectl-upgrade-*"}} { // a pattern may match nothing
		if _, err := run(ctx, log, "systemctl", args...); err != nil {
			log.Printf("%v", err)
		}
	}
	for _, dir := range []string{SnapshotsDir, filepath.Dir(SnapshotsDir)} {
		if err := removeEmpty(l.At(dir)); err != nil {
			return err
		}
	}
	for _, dir := range []string{l.At(runDir), l.Root()} {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing %s: %w", dir, err)
		}
	}
	return SyncDir(filepath.Dir(l.Root()))
}

// removeEmpty removes a folder unless something is in it.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) > 0 {
		return nil
	}
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", dir, err)
	}
	return nil
}
