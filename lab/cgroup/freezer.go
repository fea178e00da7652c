package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Thaw lets the node's frozen processes go on. A runtime freezes a container to stop it; if
// it is killed meanwhile, the container stays frozen. On version 1 a frozen process does
// not even end when it is killed; on version 2 it does, and Thaw does nothing.
func (g Groups) Thaw() error {
	if g.Version != V1 {
		return nil
	}
	err := filepath.WalkDir(g.path("freezer"), thaw)
	if err != nil {
		return fmt.Errorf("thawing the processes of node %s: %w", g.node, err)
	}
	return nil
}

// thaw thaws the group whose state the entry is. Groups may go while it works.
func thaw(path string, entry fs.DirEntry, err error) error {
	if err == nil && entry.Name() != "freezer.state" {
		return nil
	}
	var state []byte
	if err == nil {
		state, err = os.ReadFile(path)
	}
	if err == nil && strings.TrimSpace(string(state)) != "THAWED" {
		err = os.WriteFile(path, []byte("THAWED"), 0o644)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
