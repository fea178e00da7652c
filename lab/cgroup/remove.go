package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// remove removes all groups in a group, the innermost first, and then the group itself
// if asked to.
func remove(top string, itself bool) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if entry != nil && entry.IsDir() && (itself || path != top) {
			dirs = append(dirs, path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the control group %s: %w", top, err)
	}
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if err := removeOne(dir); err != nil {
			return err
		}
	}
	return nil
}

// removeOne waits a little: a killed process leaves its groups only when it is reaped.
func removeOne(dir string) error {
	const pause = 50 * time.Millisecond
	deadline := time.Now().Add(timelimit.Scale(5 * time.Second))
	for {
		err := unix.Rmdir(dir)
		if err == nil || err == unix.ENOENT {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("removing the control group %s: %w", dir, err)
		}
		time.Sleep(pause)
	}
}
