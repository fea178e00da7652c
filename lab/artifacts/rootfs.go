package artifacts

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// nodePackages are what a Flatcar node has on its own: systemd with its
// tools, and what kubelet, kube-proxy and CNI plugins call. There is no
// container runtime: as on Flatcar, it comes as a sysext. libseccomp2 is what
// that one needs of its host.
var nodePackages = []string{
	"systemd", "systemd-sysv", "systemd-container", "systemd-resolved", "dbus", "udev", "polkitd",
	"kmod", "util-linux", "mount", "procps", "ca-certificates", "curl", "gpg",
	"iproute2", "iptables", "nftables", "conntrack", "socat", "ethtool",
	"containernetworking-plugins", "libseccomp2",
}

// Rootfs makes the root file system that every node lies over, and returns
// its folder. Nothing may write to it. systemd-networkd is enabled in it.
func (c *Cache) Rootfs(ctx context.Context, base Base) (string, error) {
	dir, err := c.obtain(artifact{
		name:   "rootfs-" + base.String(),
		recipe: nodePackages,
		step:   "root file system (Debian " + base.String() + ")",
		build:  func(dir string) error { return c.buildRootfs(ctx, base, filepath.Join(dir, "root")) },
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "root"), nil
}

func (c *Cache) buildRootfs(ctx context.Context, base Base, root string) error {
	if err := c.debian(ctx, "rootfs", "minbase", base, nodePackages, root); err != nil {
		return err
	}
	_, err := c.run(ctx, command{log: "rootfs", args: []string{"chroot", root, "systemctl", "enable", "systemd-networkd"}})
	return err
}

// debian makes a folder out of Debian packages. variant is mmdebstrap's:
// minbase installs them, extract only unpacks them.
func (c *Cache) debian(ctx context.Context, log, variant string, base Base, packages []string, root string) error {
	mirror, err := debianMirror("/")
	if err != nil {
		return err
	}
	dates, err := c.aptDates(ctx, log)
	if err != nil {
		return err
	}
	args := append(mmdebstrap(variant, base, packages, root, mirror), dates...)
	_, err = c.run(ctx, command{log: log, ownMounts: true, args: args})
	if err != nil {
		return fmt.Errorf("making it from %s: %w", mirror, err)
	}
	return nil
}

// aptDates are options of mmdebstrap that treat old package lists as this machine's apt
// does: a mirror may be a snapshot, and sid's lists are valid for a week only.
func (c *Cache) aptDates(ctx context.Context, log string) ([]string, error) {
	out, err := c.run(ctx, command{log: log, args: []string{"apt-config", "dump", "--format", `%f "%v";%n`,
		"Acquire::Check-Valid-Until", "Acquire::Check-Date"}})
	if err != nil {
		return nil, fmt.Errorf("reading apt's configuration: %w", err)
	}
	var options []string
	for line := range strings.Lines(out) {
		options = append(options, "--aptopt="+strings.TrimSpace(line))
	}
	return options, nil
}

// mmdebstrap takes packages from the first suite that has them: without its option apt
// prefers a release to its backports.
func mmdebstrap(variant string, base Base, packages []string, root, mirror string) []string {
	suites := bases[base.orDefault()].suites
	args := []string{"mmdebstrap", "--mode=root", "--variant=" + variant, "--architectures=" + runtime.GOARCH,
		"--include=" + strings.Join(packages, ",")}
	if len(suites) == 1 {
		return append(args, suites[0], root, mirror)
	}
	args = append(args, "--aptopt=APT::Default-Release "+strconv.Quote(suites[0])+";", suites[len(suites)-1], root)
	for _, suite := range suites {
		args = append(args, "deb "+mirror+" "+suite+" main")
	}
	return args
}
