package artifacts

import (
	"context"
	"os"
	"path/filepath"
)

// Containerd makes a sysext of Debian's containerd and runc, as Flatcar has
// one, and returns its path: a node links it as /etc/extensions/containerd.raw.
// Its configuration stays the node's own, in /etc/containerd.
func (c *Cache) Containerd(ctx context.Context) (string, error) {
	tree := containerdTree()
	dir, err := c.obtain(artifact{
		name:   "containerd-" + release,
		recipe: tree.recipe(),
		step:   "containerd (sysext)",
		build:  func(dir string) error { return c.buildContainerd(ctx, tree, dir) },
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "containerd.raw"), nil
}

// containerdTree takes its files from where Debian puts them.
func containerdTree() tree {
	return tree{
		extension: "containerd",
		release:   extensionRelease,
		copies: map[string]string{
			"usr/bin/containerd":                        "usr/bin/containerd",
			"usr/bin/containerd-shim-runc-v2":           "usr/bin/containerd-shim-runc-v2",
			"usr/bin/ctr":                               "usr/bin/ctr",
			"usr/bin/runc":                              "usr/sbin/runc",
			"usr/lib/systemd/system/containerd.service": "usr/lib/systemd/system/containerd.service",
		},
		texts: map[string]string{
			"usr/lib/systemd/system/multi-user.target.d/10-containerd-service.conf": upholds("containerd.service"),
		},
	}
}

func (c *Cache) buildContainerd(ctx context.Context, tree tree, dir string) error {
	packages := filepath.Join(dir, "packages")
	if err := c.debian(ctx, "containerd", "extract", release, []string{"containerd", "runc"}, packages); err != nil {
		return err
	}
	if err := c.squash(ctx, tree, packages, filepath.Join(dir, "containerd.raw")); err != nil {
		return err
	}
	return os.RemoveAll(packages)
}
