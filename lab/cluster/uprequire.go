package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
)

// requireRoom requires free space in GiB, as measured and rounded up: building a
// version needs more than using it, and Go.
func (c *Cluster) requireRoom() error {
	if err := os.MkdirAll(c.CacheDir(), 0o755); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	const cold, warm = 15, 5
	built, err := filepath.Glob(filepath.Join(c.CacheDir(), "kubernetes-"+c.state.Spec.Version+"-programs-*"))
	if err != nil {
		return err
	}
	if len(built) == 0 && c.state.Spec.From == "" {
		if err := host.RequireGo(); err != nil {
			return err
		}
		if err := host.RequireDisk(c.CacheDir(), cold); err != nil {
			return err
		}
	}
	return host.RequireDisk(c.Dir, warm)
}

// requireGroups requires the version of control groups that the nodes' systemd boots on.
func requireGroups(base artifacts.Base) error {
	groups, err := cgroup.Detect()
	if err != nil {
		return err
	}
	if groups == cgroup.V1 && base.NeedsVersion2() {
		return fmt.Errorf("the systemd of Debian %s boots on version 2 control groups only, and this machine has version 1: use another --base", base)
	}
	return nil
}
