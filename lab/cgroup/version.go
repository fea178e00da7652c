// Package cgroup gives each node of the lab control groups of its own. Without
// them, nodes would share their host's, and a kubelet would delete its neighbor's
// pods as orphans.
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mounted is where control groups are mounted: the only hierarchy of version 2, or
// a folder for each hierarchy of version 1.
const mounted = "/sys/fs/cgroup"

// Version is that of the control groups that have a machine's controllers.
type Version int

// The versions. A machine with both has its controllers in version 1.
const (
	V1 Version = 1
	V2 Version = 2
)

// needed are the controllers of version 2 that a kubelet does not work without.
var needed = []string{"cpu", "memory", "pids"}

// Detect returns this machine's version. The error of a machine that cannot run nodes
// is one line that says what to do.
func Detect() (Version, error) { return detect(mounted, magic) }

func detect(root string, magic func(path string) int64) (Version, error) {
	if magic(filepath.Join(root, "memory")) == unix.CGROUP_SUPER_MAGIC {
		return V1, nil
	}
	if magic(root) != unix.CGROUP2_SUPER_MAGIC {
		return 0, fmt.Errorf("a lab needs control groups: mount -t cgroup2 none %s", root)
	}
	there, err := controllers(root)
	if err != nil {
		return 0, err
	}
	for _, name := range needed {
		if !slices.Contains(there, name) {
			return 0, fmt.Errorf("a lab needs the control group controller %s: boot without cgroup_disable=%s", name, name)
		}
	}
	return V2, nil
}

// magic returns the type of the file system at path, or 0.
func magic(path string) int64 {
	var where unix.Statfs_t
	if unix.Statfs(path, &where) != nil {
		return 0
	}
	return int64(where.Type) //nolint:unconvert // its type depends on the architecture
}

// controllers returns those of version 2 that a group can enable for the groups in it.
func controllers(group string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("reading the controllers of control groups: %w", err)
	}
	return strings.Fields(string(text)), nil
}
