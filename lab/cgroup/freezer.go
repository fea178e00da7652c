package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Thaw lets the node's frozen processes go on. A runtime freezes a container to stop it; if
// it is killed meanwhile, the container stays frozen. On version 1 a frozen process does
// not even end when it is killed; on version 2 it does, and Thaw does nothing.
func (g Groups) Thaw() error {
	if g.Version != V1 {
		return nil
	}
	group, err := os.OpenRoot(g.path("freezer"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer group.Close()
		err = fs.WalkDir(group.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "freezer.state" {
				err = thaw(group, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a group may go meanwhile
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("thawing the processes of node %s: %w", g.node, err)
	}
	return nil
}

// thaw thaws the group whose state the file is.
func thaw(group *os.Root, file string) error {
	state, err := group.ReadFile(file)
	if err == nil && strings.TrimSpace(string(state)) != "THAWED" {
		err = group.WriteFile(file, []byte("THAWED"), 0o644)
	}
	return err
}
