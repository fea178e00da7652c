package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func (g Groups) renewV1() error {
	hierarchies, err := g.hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		group := g.path(hierarchy)
		for _, dir := range []string{filepath.Dir(group), group} {
			if err := makeV1(dir); err != nil {
				return err
			}
		}
		if err := enter(group); err != nil {
			return err
		}
		if err := remove(group, false); err != nil {
			return err
		}
	}
	return nil
}

// makeV1 makes a group. A new cpuset has no processors and no memory, and takes no
// process: it gets those of the group that it is in.
func makeV1(group string) error {
	if err := mkdir(group); err != nil {
		return err
	}
	for _, setting := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(filepath.Dir(group), setting))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, setting), value, 0o644)
		}
		if err != nil {
			return fmt.Errorf("making a control group: %w", err)
		}
	}
	return nil
}
