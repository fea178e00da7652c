// Package virtual runs a virtual machine of user-mode Linux: a kernel that is an
// ordinary process, and so needs neither KVM nor this machine's control groups. It is
// about ten times slower than this machine.
package virtual

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Disk describes a machine's disk.
type Disk struct {
	// Rootfs is a folder with a Debian.
	Rootfs string
	// Copies are files and folders of this machine, by their path in the other.
	Copies map[string]string
	// Script is run when the machine has booted. Then the machine powers off.
	Script string
	// Size is that of the file system, as mkfs has it. What is not written needs no room.
	Size string
}

// The script, the unit that runs it, and the systemd units without use here.
const (
	scriptPath = "/opt/script"
	unit       = `[Unit]
Description=What this machine is for
After=basic.target

[Service]
Type=exec
ExecStart=/bin/sh ` + scriptPath + `
ExecStopPost=/bin/systemctl poweroff --no-block
`
)

var masked = []string{"getty@.service", "serial-getty@.service", "console-getty.service", "apt-daily.timer", "apt-daily-upgrade.timer"}

// Make writes the disk to a file. It puts all together in a folder next to it first.
func (d Disk) Make(ctx context.Context, file string) error {
	if err := d.make(ctx, file, file+".files"); err != nil {
		return fmt.Errorf("making the disk of a virtual machine: %w", err)
	}
	return nil
}

func (d Disk) make(ctx context.Context, file, folder string) error {
	defer os.RemoveAll(folder)
	for _, stale := range []string{folder, file} {
		if err := os.RemoveAll(stale); err != nil {
			return err
		}
	}
	if err := d.fill(ctx, folder); err != nil {
		return err
	}
	return run(ctx, "mkfs.ext4", "-q", "-d", folder, file, d.Size)
}

func (d Disk) fill(ctx context.Context, folder string) error {
	if err := run(ctx, "cp", "--archive", "--reflink=auto", d.Rootfs, folder); err != nil {
		return err
	}
	for target, source := range d.Copies {
		target = filepath.Join(folder, target)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := run(ctx, "cp", "--archive", "--reflink=auto", source, target); err != nil {
			return err
		}
	}
	const units = "/etc/systemd/system/"
	for path, text := range map[string]string{scriptPath: d.Script, units + "script.service": unit, "/etc/hostname": "virtual\n"} {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o644); err != nil {
			return err
		}
	}
	links := map[string]string{units + "multi-user.target.wants/script.service": units + "script.service"}
	for _, name := range masked {
		links[units+name] = "/dev/null"
	}
	for path, target := range links {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	return indexModules(ctx, folder)
}

// indexModules lets the machine find the modules of its kernel.
func indexModules(ctx context.Context, root string) error {
	versions, err := os.ReadDir(filepath.Join(root, "usr/lib/modules"))
	if err != nil {
		return err
	}
	for _, version := range versions {
		if err := run(ctx, "chroot", root, "depmod", version.Name()); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
