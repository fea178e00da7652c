package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// extensionsDir has the link to the image of Kubernetes, and other extensions.
var extensionsDir = filepath.Dir(host.Link)

// hierarchies are the folders that systemd-sysext merges into by default (systemd-sysext(8)).
var hierarchies = []string{"/usr", "/opt"}

// Merge merges the extensions of the next boot in this process's mount namespace, and returns what it sees then. image is
// the one that the boot finds behind host.Link; empty: the one that is there. kept are the mounts that units of the node
// make: all others below the hierarchies are gone after a boot.
//
// It runs in the unit of host.RunTrial only. Anywhere else it would change the node.
func Merge(ctx context.Context, image string, kept []string) (Seen, error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return Seen{}, fmt.Errorf("reading the mounts: %w", err)
	}
	if !slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool { return m.Mountpoint == host.TrialDir }) {
		return Seen{}, fmt.Errorf("%s is the node's own: this runs only in the unit of a trial", host.TrialDir)
	}
	if hierarchies := mutable(host.OnNode, mounts); len(hierarchies) > 0 {
		return Seen{Mutable: hierarchies}, nil
	}
	options := options(ctx)
	if said, err := run(ctx, "unmerge", options); err != nil { // a boot begins with nothing merged
		return Seen{}, fmt.Errorf("%s unmerge: %w: %s", sysext, err, lastOf(lines(said)))
	}
	left, err := detach(kept)
	if err != nil {
		return Seen{}, err
	}
	if err := replaceLink(image); err != nil {
		return Seen{}, err
	}
	said, err := run(ctx, "merge", options)
	seen := look(host.OnNode)
	seen.Said, seen.Mounts = lines(said), left
	if err != nil {
		seen.Ended, seen.Refused = err.Error(), refusedFile(host.OnNode, seen.Said)
	}
	return seen, nil
}

// refusedFile returns the file of the extension that a line of systemd-sysext names.
func refusedFile(l host.Layout, said []string) string {
	for _, line := range said {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, metadata), ":")
		if !strings.HasPrefix(line, metadata) {
			continue
		}
		if path := extensionFile(l, name); path != "" {
			return path
		}
	}
	return ""
}

// metadata begins what systemd-sysext says of an image that it cannot read.
const metadata = "Failed to read metadata for image "

// sysext is the operating system's own program.
const sysext = "systemd-sysext"

func run(ctx context.Context, verb string, options []string) (said string, err error) {
	output, err := exec.CommandContext(ctx, sysext, append([]string{verb}, options...)...).CombinedOutput() //nolint:gosec // constants
	return string(output), err
}

// options returns those of the wanted options that this systemd has: from 255 on --no-reload, from 256 on --mutable. In the
// trial no systemd can be told to reload its units.
func options(ctx context.Context) (list []string) {
	help, err := exec.CommandContext(ctx, sysext, "--help").Output()
	if err != nil {
		return nil
	}
	for _, option := range []string{"--no-reload", "--mutable=no"} {
		name, _, _ := strings.Cut(option, "=")
		if strings.Contains(string(help), name) {
			list = append(list, option)
		}
	}
	return list
}

// mutable returns the hierarchies that are merged in a mutable mode, or will be (systemd-sysext(8), "Mutability").
func mutable(l host.Layout, mounts []*mountinfo.Info) (list []string) {
	for _, hierarchy := range hierarchies {
		_, err := os.Stat(l.At("/var/lib/extensions.mutable", hierarchy))
		writable := slices.ContainsFunc(mounts, func(m *mountinfo.Info) bool {
			return m.Mountpoint == hierarchy && m.Source == "sysext" && strings.Contains(m.VFSOptions, "upperdir=")
		})
		if err == nil || writable {
			list = append(list, hierarchy)
		}
	}
	return list
}

// detach unmounts what the next boot will not find mounted below the hierarchies, and returns what is left. Mounts that
// another one hides stay.
func detach(kept []string) (left []string, err error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("reading the mounts: %w", err)
	}
	for _, m := range slices.Backward(mounts) {
		if !slices.ContainsFunc(hierarchies, func(h string) bool { return strings.HasPrefix(m.Mountpoint, h+"/") }) {
			continue
		}
		if slices.Contains(kept, m.Mountpoint) {
			left = append(left, m.Mountpoint)
			continue
		}
		err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("unmounting %s: %w", m.Mountpoint, err)
		}
	}
	slices.Sort(left)
	return left, nil
}

// replaceLink shows another folder at /etc/extensions: what is there, and a link to image in place of host.Link.
func replaceLink(image string) error {
	if image == "" {
		return nil
	}
	original, folder := filepath.Join(host.TrialDir, "original"), filepath.Join(host.TrialDir, "extensions")
	if err := errors.Join(os.Mkdir(original, 0o755), os.Mkdir(folder, 0o755)); err != nil { //nolint:gosec // as the folder is
		return err
	}
	err := unix.Mount(extensionsDir, original, "", unix.MS_BIND, "")
	if err == nil { // otherwise it would get what is mounted at extensionsDir below
		err = unix.Mount("", original, "", unix.MS_PRIVATE, "")
	}
	if err != nil {
		return fmt.Errorf("showing %s elsewhere: %w", extensionsDir, err)
	}
	entries, err := os.ReadDir(original)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, target := e.Name(), filepath.Join(original, e.Name())
		switch {
		case name == filepath.Base(host.Link):
			target = image
		case e.Type() == fs.ModeSymlink:
			if target, err = os.Readlink(target); err != nil {
				return err
			}
		}
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	if err := unix.Mount(folder, extensionsDir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("showing the next boot's extensions at %s: %w", extensionsDir, err)
	}
	return nil
}

// lines returns the lines of a program's output without empty ones, and not more than the last of many.
func lines(text string) (list []string) {
	const most = 20
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, host.Clip(line, 200))
		}
	}
	return list[max(0, len(list)-most):]
}
