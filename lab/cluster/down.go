package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/process"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// Down removes the lab of a folder, in any state, and restores all that it changed
// on this machine. It keeps the cache. It returns ErrNone if there is no lab.
func Down(ctx context.Context, dir string, report artifacts.Reporter) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c := &Cluster{Dir: dir, Report: report}
	if report == nil {
		c.Report = artifacts.Silent
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return ErrNone
	}
	if err := host.RequireRoot(); err != nil {
		return err
	}
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	return c.down(ctx)
}

func (c *Cluster) down(ctx context.Context) error {
	// Before the nodes, which it would make again.
	if err := c.StopManaging(ctx); err != nil {
		return err
	}
	// The folder shows which nodes exist; the plan may not have been completed.
	nodes, err := os.ReadDir(c.nodesDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("looking for nodes: %w", err)
	}
	if err := c.step("powering off nodes", func() error {
		return each(nodes, func(entry os.DirEntry) error { return c.discard(ctx, entry.Name()) })
	}); err != nil {
		return err
	}
	if err := c.step("services and bridge", func() error {
		server, _, err := process.Load(c.serveRecord())
		if err == nil {
			err = server.End(ctx, timelimit.Scale(5*time.Second))
		}
		return errors.Join(err,
			network.Dismiss(ctx, c.firewallRecord()),
			network.Down(ctx, c.Dir),
			host.Restore(c.kernelRecord()),
			host.UnloadModules(ctx, c.modulesRecord()))
	}); err != nil {
		return err
	}
	return c.step("removing "+c.Dir, func() error { return os.RemoveAll(c.Dir) })
}

// discard ends all processes of a node, and removes its control groups. Its mounts
// were in a namespace that ended with the processes.
func (c *Cluster) discard(ctx context.Context, name string) error {
	machine := node.Machine{Dir: c.nodeDir(name)}
	machine.Spec.Name = name
	if err := machine.Kill(ctx); err != nil {
		return err
	}
	groups, err := cgroup.Of(name)
	if err != nil {
		return err
	}
	return groups.Remove()
}
