package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRoot is where version 1 hierarchies are mounted, each in its folder.
const cgroupRoot = "/sys/fs/cgroup"

// labGroup holds the groups of all nodes. Without one for each, nodes would
// share their host's, and a kubelet would delete its neighbor's pods as
// orphans.
const labGroup = "kubectl-upgrade-lab"

// groups are a node's control groups: one in each hierarchy.
func groups(node string) ([]string, error) {
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, fmt.Errorf("reading control groups: %w", err)
	}
	var all []string
	for _, entry := range entries {
		hierarchy := filepath.Join(cgroupRoot, entry.Name())
		var where unix.Statfs_t
		if !entry.IsDir() || unix.Statfs(hierarchy, &where) != nil || where.Type != unix.CGROUP_SUPER_MAGIC {
			continue
		}
		all = append(all, filepath.Join(hierarchy, labGroup, node))
	}
	return all, nil
}

// enterGroups makes a node's control groups, and moves this process there.
func enterGroups(node string) error {
	all, err := groups(node)
	if err != nil {
		return err
	}
	for _, group := range all {
		if err := makeGroup(group); err != nil {
			return fmt.Errorf("making a control group: %w", err)
		}
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
			return fmt.Errorf("entering a control group: %w", err)
		}
	}
	return nil
}

func makeGroup(group string) error {
	lab := filepath.Dir(group)
	for _, dir := range []string{lab, group} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// A new cpuset has no processors and no memory, and takes no process.
		for _, setting := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), setting))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, setting), value, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// emptyGroups removes what a boot left below a node's control groups, as the
// kernel of a real machine forgets everything too.
func emptyGroups(node string) error {
	all, err := groups(node)
	if err != nil {
		return err
	}
	for _, group := range all {
		if err := removeGroups(group, false); err != nil {
			return err
		}
	}
	return nil
}

// RemoveGroups removes a node's control groups. No process may be in them.
func RemoveGroups(node string) error {
	all, err := groups(node)
	if err != nil {
		return err
	}
	for _, group := range all {
		if err := removeGroups(group, true); err != nil {
			return err
		}
		// The last node takes the lab's group along; before, it is not empty.
		if err := unix.Rmdir(filepath.Dir(group)); err != nil && err != unix.EBUSY && err != unix.ENOENT {
			return fmt.Errorf("removing the control group %s: %w", filepath.Dir(group), err)
		}
	}
	return nil
}

func removeGroups(top string, itself bool) error {
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
		if err := removeGroup(dir); err != nil {
			return err
		}
	}
	return nil
}

// removeGroup waits a little: a killed process leaves its groups only when it
// is reaped.
func removeGroup(dir string) error {
	const attempts, pause = 100, 50 * time.Millisecond
	var err error
	for range attempts {
		err = unix.Rmdir(dir)
		if err == nil || err == unix.ENOENT {
			return nil
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("removing the control group %s: %w", dir, err)
}

// Memory is how much memory a node uses, in bytes: what its processes hold,
// without the page cache, which the kernel takes back when it needs to.
func (m *Machine) Memory() (int64, error) {
	stat, err := os.ReadFile(filepath.Join(cgroupRoot, "memory", labGroup, m.Spec.Name, "memory.stat"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of node %s: %w", m.Spec.Name, err)
	}
	for line := range strings.Lines(string(stat)) {
		if value, found := strings.CutPrefix(line, "total_rss "); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("reading the memory of node %s: no total_rss", m.Spec.Name)
}
