package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// given are the controllers that nodes get if the machine has them.
var given = append([]string{"cpuset", "io", "hugetlb"}, needed...)

// renewV2 makes the group anew: the last boot has enabled controllers in it, so that
// it takes no process any more. The node enables its own again.
func (g Groups) renewV2() error {
	group := g.path("")
	if err := remove(group, true); err != nil {
		return err
	}
	enabled, err := controllers(g.root)
	if err != nil {
		return err
	}
	enabled = slices.DeleteFunc(enabled, func(name string) bool { return !slices.Contains(given, name) })
	// A group can have only the controllers that the one around it has enabled.
	for _, around := range []string{g.root, filepath.Dir(group)} {
		if err := mkdir(around); err != nil {
			return err
		}
		if err := enable(around, enabled); err != nil {
			return err
		}
	}
	return mkdir(group)
}

func enable(group string, controllers []string) error {
	line := "+" + strings.Join(controllers, " +")
	if err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte(line), 0o644); err != nil {
		return fmt.Errorf("enabling control group controllers (%s): %w", line, err)
	}
	return nil
}
