package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// lab is the group that holds the groups of all nodes.
const lab = "kubectl-upgrade-lab"

// Groups are the control groups of a node: one in each hierarchy.
type Groups struct {
	Version Version
	root    string // where control groups are mounted
	node    string
}

// Of returns the groups of the node with that name, which need not exist.
func Of(node string) (Groups, error) {
	version, err := Detect()
	return Groups{version, mounted, node}, err
}

// Renew makes the node's groups, with nothing of an earlier boot in them, as the kernel
// of a real machine forgets everything too.
//
// On version 1, this process enters them, and so does all that it starts. On version 2,
// a group with processes cannot enable controllers for the groups in it, so this process
// stays outside, and Join puts the node there.
func (g Groups) Renew() error {
	if g.Version == V2 {
		return g.renewV2()
	}
	return g.renewV1()
}

// Join makes a command that has not started start in the node's groups. The caller calls
// done once it has started.
func (g Groups) Join(cmd *exec.Cmd) (done func(), err error) {
	if g.Version != V2 {
		return func() {}, nil // it starts where this process is
	}
	group, err := os.Open(g.path(""))
	if err != nil {
		return nil, fmt.Errorf("opening a control group: %w", err)
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(group.Fd()) //nolint:gosec // a descriptor is a small number
	return func() { group.Close() }, nil
}

// Remove removes the node's groups. No process may be in them.
func (g Groups) Remove() error {
	hierarchies, err := g.hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		group := g.path(hierarchy)
		if err := remove(group, true); err != nil {
			return err
		}
		// The last node takes the lab's group along; before, it is not empty.
		if err := unix.Rmdir(filepath.Dir(group)); err != nil && err != unix.EBUSY && err != unix.ENOENT {
			return fmt.Errorf("removing the control group %s: %w", filepath.Dir(group), err)
		}
	}
	return nil
}

// path returns the node's group in a hierarchy.
func (g Groups) path(hierarchy string) string {
	return filepath.Join(g.root, hierarchy, lab, g.node)
}

// hierarchies returns the folders of all hierarchies, below where they are mounted. A
// machine with version 1 may have one of version 2 beside it, without controllers, and
// systemd-nspawn puts the machine's systemd into the group of its name=systemd that has
// the path of nspawn's own group there: nodes that stayed at its root would share the
// groups of their services, and each would remove the others'.
func (g Groups) hierarchies() ([]string, error) {
	if g.Version == V2 {
		return []string{""}, nil
	}
	entries, err := os.ReadDir(g.root)
	if err != nil {
		return nil, fmt.Errorf("reading control groups: %w", err)
	}
	var all []string
	for _, entry := range entries {
		if !entry.IsDir() {
			continue // a link to a hierarchy of two controllers
		}
		switch magic(filepath.Join(g.root, entry.Name())) {
		case unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC:
			all = append(all, entry.Name())
		}
	}
	return all, nil
}

// enter moves this process into a group.
func enter(group string) error {
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return fmt.Errorf("entering a control group: %w", err)
	}
	return nil
}

// mkdir makes a group unless it is there.
func mkdir(group string) error {
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a control group: %w", err)
	}
	return nil
}
