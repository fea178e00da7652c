package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// virtualRelease is the Debian of virtual machines: its user-mode-linux boots systemd.
const virtualRelease = "bookworm"

// virtualPackages are a small Debian with what a lab needs of its host, and a Linux that
// runs as an ordinary process.
var virtualPackages = []string{
	"systemd", "systemd-sysv", "dbus", "udev", "kmod", "util-linux", "mount", "user-mode-linux",
	"ca-certificates", "mmdebstrap", "systemd-container", "squashfs-tools", "iproute2", "iptables", "conntrack", "procps",
}

// Virtual is what a virtual machine of user-mode Linux is made of.
type Virtual struct {
	// Kernel is the program that runs the machine. It needs no KVM.
	Kernel string
	// Rootfs is the folder of the root file system. Nothing may write to it.
	Rootfs string
}

// Virtual makes the parts of a virtual machine.
func (c *Cache) Virtual(ctx context.Context) (Virtual, error) {
	dir, err := c.obtain(artifact{
		name:   "virtual-" + virtualRelease,
		recipe: virtualPackages,
		step:   "root file system of a virtual machine (Debian " + virtualRelease + ")",
		build:  func(dir string) error { return c.buildVirtual(ctx, filepath.Join(dir, "root")) },
	})
	root := filepath.Join(dir, "root")
	return Virtual{Kernel: filepath.Join(root, "usr/bin/linux.uml"), Rootfs: root}, err
}

// buildVirtual has the kernel's modules where modprobe finds them.
func (c *Cache) buildVirtual(ctx context.Context, root string) error {
	if err := c.debian(ctx, "virtual", "minbase", virtualRelease, virtualPackages, root); err != nil {
		return err
	}
	modules := filepath.Join(root, "usr/lib/modules")
	if err := os.Remove(modules); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("linking the kernel's modules: %w", err)
	}
	if err := os.Symlink("uml/modules", modules); err != nil {
		return fmt.Errorf("linking the kernel's modules: %w", err)
	}
	return nil
}
