package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// containerd2Version is the containerd 2 that is built from its sources: that of
// Flatcar's newer channels.
const containerd2Version = "2.2.9"

// containerdUnit is for both major versions. Its configuration is the node's own, in
// /etc/containerd.
const containerdUnit = `[Unit]
Description=containerd container runtime
Documentation=https://containerd.io
After=network.target local-fs.target

[Service]
ExecStart=/usr/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
`

// ContainerdMajor returns the major version of containerd that nodes have: the one that
// was asked for, or with 0 that of the base.
func ContainerdMajor(base Base, asked int) (int, error) {
	own := bases[base.orDefault()].containerd
	switch asked {
	case 0:
		return own, nil
	case own, 2:
		return asked, nil
	case 1:
		return 0, fmt.Errorf("debian %s has no containerd 1: its own is %d", base, own)
	}
	return 0, fmt.Errorf("containerd has the major versions 1 and 2, not %d", asked)
}

// Containerd makes a sysext of containerd and runc, as Flatcar has one, and returns its
// path: a node links it as /etc/extensions/containerd.raw. containerd 2 is built from its
// sources, where the base has no own. Another containerd is Debian's, and so is runc: both
// link libraries of their base. asked is as for ContainerdMajor.
func (c *Cache) Containerd(ctx context.Context, base Base, asked int) (string, error) {
	major, err := ContainerdMajor(base, asked)
	if err != nil {
		return "", err
	}
	tree, image := containerdTree(), fmt.Sprintf("containerd-%d.raw", major)
	what := artifact{
		name:   "containerd-" + base.String(),
		recipe: tree.recipe(),
		step:   "containerd (sysext, Debian " + base.String() + ")",
		build:  func(dir string) error { return c.buildContainerd(ctx, base, tree, filepath.Join(dir, image)) },
	}
	if major != bases[base.orDefault()].containerd {
		what = artifact{
			name:   "containerd-v" + containerd2Version + "-" + base.String(),
			recipe: slices.Concat(tree.recipe(), goEnv, containerd2Packages, []string{containerd2Flags}),
			step:   "containerd " + containerd2Version + " (sysext, compiling)",
			build:  func(dir string) error { return c.buildContainerd2(ctx, base, tree, filepath.Join(dir, image)) },
		}
	}
	dir, err := c.obtain(what)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, image), nil
}

// containerdTree takes its programs from where Debian puts them.
func containerdTree() tree {
	return tree{
		extension: "containerd",
		release:   extensionRelease,
		copies: map[string]string{
			"usr/bin/containerd":              "usr/bin/containerd",
			"usr/bin/containerd-shim-runc-v2": "usr/bin/containerd-shim-runc-v2",
			"usr/bin/ctr":                     "usr/bin/ctr",
			"usr/bin/runc":                    "usr/sbin/runc",
		},
		texts: map[string]string{
			"usr/lib/systemd/system/containerd.service":                             containerdUnit,
			"usr/lib/systemd/system/multi-user.target.d/10-containerd-service.conf": upholds("containerd.service"),
		},
	}
}

func (c *Cache) buildContainerd(ctx context.Context, base Base, tree tree, image string) error {
	packages := image + ".packages"
	if err := c.debian(ctx, "containerd", "extract", base, []string{"containerd", "runc"}, packages); err != nil {
		return err
	}
	return c.packContainerd(ctx, tree, packages, image)
}

// containerd2Packages are the programs of a node; ctr is for people.
var containerd2Packages = []string{
	"github.com/containerd/containerd/v2/cmd/containerd",
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
	"github.com/containerd/containerd/v2/cmd/ctr",
}

// containerd2Flags have the programs report their version, which the Node then has.
const containerd2Flags = "-s -w -X github.com/containerd/containerd/v2/version.Version=v" + containerd2Version

func (c *Cache) buildContainerd2(ctx context.Context, base Base, tree tree, image string) error {
	packages := image + ".packages"
	if err := c.debian(ctx, "containerd", "extract", base, []string{"runc"}, packages); err != nil {
		return err
	}
	module := goModule{cache: c, name: "containerd-v" + containerd2Version}
	requires := []string{"github.com/containerd/containerd/v2@v" + containerd2Version}
	if err := module.prepare(ctx, imports(containerd2Packages), requires, nil); err != nil {
		return err
	}
	if err := module.build(ctx, filepath.Join(packages, "usr/bin"), containerd2Flags, containerd2Packages...); err != nil {
		return err
	}
	return c.packContainerd(ctx, tree, packages, image)
}

func (c *Cache) packContainerd(ctx context.Context, tree tree, packages, image string) error {
	if err := c.squash(ctx, tree, packages, image); err != nil {
		return err
	}
	return os.RemoveAll(packages)
}
