package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// ReadOnlyExtensions returns the names of the extensions that make Root read-only: systemd-sysext merges a folder of which
// an extension has files into a file system that is read-only. It mounts each extension at
// /run/systemd/sysext/extensions/NAME, and names these places as lower folders of an overlay (sysext.c, merge_hierarchy).
func (l Layout) ReadOnlyExtensions() (names []string) {
	file, err := os.Open(l.At("/proc/self/mountinfo"))
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	mounts, err := mountinfo.GetMountsFromReader(file, nil)
	if err != nil {
		return nil
	}
	var top *mountinfo.Info // of those that are mounted one on the other, the last is seen
	for _, m := range mounts {
		if m.Mountpoint == Root || strings.HasPrefix(Root, strings.TrimSuffix(m.Mountpoint, "/")+"/") {
			top = m
		}
	}
	if top == nil || top.Source != "sysext" || strings.Contains(top.VFSOptions, "upperdir=") {
		return nil
	}
	_, lower, _ := strings.Cut(top.VFSOptions, "lowerdir=")
	lower, _, _ = strings.Cut(lower, ",")
	for layer := range strings.SplitSeq(lower, ":") {
		if name, found := strings.CutPrefix(layer, "/run/systemd/sysext/extensions/"); found {
			name, _, _ = strings.Cut(name, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// explain adds to an error of a read-only file system what made it so, if that is an extension.
func (l Layout) explain(err error) error {
	if !errors.Is(err, unix.EROFS) {
		return err
	}
	names := l.ReadOnlyExtensions()
	if len(names) == 0 {
		return err
	}
	return fmt.Errorf("%w: systemd-sysext makes all of /opt read-only for an extension with files there (%s); remove it from /etc/extensions, or its files in /opt",
		err, strings.Join(names, ", "))
}
