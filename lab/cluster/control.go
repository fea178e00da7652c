package cluster

import (
	"context"
	"os/exec"
)

// Command returns a command on a running node. The caller sets its standard
// streams.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	machine, err := c.Node(name)
	if err != nil {
		return nil, err
	}
	return machine.Command(ctx, args...)
}

// Exec runs a program on a node, and returns what it printed. The error of a
// program that failed wraps an *exec.ExitError.
func (c *Cluster) Exec(ctx context.Context, name string, args ...string) ([]byte, error) {
	machine, err := c.Node(name)
	if err != nil {
		return nil, err
	}
	return machine.Exec(ctx, args...)
}

// WriteFile writes a file on a running node.
func (c *Cluster) WriteFile(ctx context.Context, name, path, text string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.WriteFile(ctx, path, text)
}

// BootID returns a running node's boot id.
func (c *Cluster) BootID(name string) (string, error) {
	machine, err := c.Node(name)
	if err != nil {
		return "", err
	}
	return machine.BootID()
}

// Reboot reboots a node through its own logind, and returns when it has booted
// again. WaitReady waits until its kubelet is back.
func (c *Cluster) Reboot(ctx context.Context, name string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.Reboot(ctx)
}

// Kill cuts a node's power.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.Kill(ctx)
}

// Start powers on a node that is off.
func (c *Cluster) Start(ctx context.Context, name string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.Start(ctx, c.program(), "supervise", name, "--state", c.Dir)
}

// Partition cuts a node off from all others and from the bridge's services,
// also over its reboots, until Heal.
func (c *Cluster) Partition(ctx context.Context, name string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.Partition(ctx)
}

// Heal connects a node again that Partition cut off.
func (c *Cluster) Heal(ctx context.Context, name string) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	return machine.Heal(ctx)
}
