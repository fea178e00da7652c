package artifacts

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// virtualRelease is the Debian of virtual machines. A user-mode-linux of 6.11 or newer
// starts processes several times faster than that of bookworm.
const virtualRelease = "trixie"

// virtualPackages are a small Debian with what a lab needs of its host, and a Linux that
// runs as an ordinary process.
var virtualPackages = []string{
	"systemd", "systemd-sysv", "dbus", "udev", "kmod", "util-linux", "mount", "user-mode-linux",
	"tcc", "ca-certificates", "mmdebstrap", "systemd-container", "squashfs-tools", "iproute2", "iptables", "conntrack", "procps",
}

// VirtualKernel is the program in Virtual's folder that runs a machine. It needs no KVM.
const VirtualKernel = "/usr/bin/linux.uml"

// Virtual makes the root file system of virtual machines, and returns its folder.
// Nothing may write to it.
func (c *Cache) Virtual(ctx context.Context) (string, error) {
	dir, err := c.obtain(artifact{
		name:   "virtual-" + virtualRelease,
		recipe: virtualPackages,
		step:   "root file system of a virtual machine (Debian " + virtualRelease + ")",
		build:  func(dir string) error { return c.buildVirtual(ctx, filepath.Join(dir, "root")) },
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "root"), nil
}

// buildVirtual has the kernel's modules where modprobe finds them, and the packet filter
// that the kernel has.
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
	_, err := c.run(ctx, command{log: "virtual", args: []string{"chroot", root, "update-alternatives", "--set", "iptables", "/usr/sbin/iptables-legacy"}})
	return err
}

//go:embed clock/clock.c
var clockSource string

// VirtualClock makes the library that gives a virtual machine its clock, and returns its
// path. The compiler is in the root file system of virtual machines.
func (c *Cache) VirtualClock(ctx context.Context) (string, error) {
	root, err := c.Virtual(ctx)
	if err != nil {
		return "", err
	}
	dir, err := c.obtain(artifact{
		name:   "virtual-clock",
		recipe: []string{clockSource},
		step:   "clock of a virtual machine",
		build: func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "clock.c"), []byte(clockSource), 0o644); err != nil {
				return err
			}
			compile := `mount --bind "$2" "$1/mnt" && chroot "$1" tcc -shared -nostdlib -o /mnt/clock.so /mnt/clock.c`
			_, err := c.run(ctx, command{log: "virtual", ownMounts: true, args: []string{"sh", "-c", compile, "sh", root, dir}})
			return err
		},
	})
	return filepath.Join(dir, "clock.so"), err
}
