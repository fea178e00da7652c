package cluster

import (
	"context"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/node"
)

// SetContainerd has a running node's next boot merge that major version of containerd, 1
// or 2. It does what a person does on Flatcar: it puts the sysext image on the node's disk,
// points /etc/extensions/containerd.raw at it, and asks for a reboot as updates of the
// operating system do. The node's configuration of containerd is for both versions.
func (c *Cluster) SetContainerd(ctx context.Context, name string, major int) error {
	machine, err := c.Node(name)
	if err != nil {
		return err
	}
	cache, err := artifacts.Open(c.CacheDir(), c.Report)
	if err != nil {
		return err
	}
	image, err := cache.Containerd(ctx, c.state.Spec.Base, major)
	if err != nil {
		return err
	}
	target := node.ContainerdImage(image)
	// The image there may be merged, and so must not change: it is replaced.
	if err := machine.CopyFile(ctx, image, target+".new"); err != nil {
		return err
	}
	_, err = machine.Exec(ctx, "sh", "-ec", `mv "$1.new" "$1"; ln -sfn "$1" "$2.new"; mv -T "$2.new" "$2"; touch /run/reboot-required`,
		"sh", target, node.ContainerdLink)
	return err
}
