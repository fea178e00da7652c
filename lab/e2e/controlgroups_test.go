//go:build e2e

package e2e

import (
	"path/filepath"
	"slices"
	"testing"
)

// topGroups returns the group of all labs in each of this machine's hierarchies, and the
// groups that systemd-nspawn makes at the root if it is not in the group of a node.
func topGroups() []string {
	var all []string
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		for _, name := range []string{"kubectl-upgrade-lab", "payload", "supervisor"} {
			found, _ := filepath.Glob(filepath.Join(hierarchy, name)) // the pattern is valid
			all = append(all, found...)
		}
	}
	return all
}

// checkGroupsOfLabGone fails the test if the lab has left control groups. Those that were
// there before are not its own.
func checkGroupsOfLabGone(t *testing.T, before []string) {
	t.Helper()
	for _, group := range topGroups() {
		if !slices.Contains(before, group) {
			t.Errorf("the lab has left the control group %s: nodes must have groups of their own below kubectl-upgrade-lab", group)
		}
	}
}
