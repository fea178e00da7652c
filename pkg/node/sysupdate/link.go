package sysupdate

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// flip points the symlink to another image, atomically and durably. An absolute symlink stays
// absolute, and a relative one relative.
func flip(l host.Layout, to string) error {
	link := l.At(host.Link)
	before, after, err := targets(l, to)
	if err != nil || after == before {
		return err
	}
	if err := renameio.Symlink(after, link); err != nil {
		return fmt.Errorf("pointing %s to %s: %w", host.Link, after, err)
	}
	return host.SyncDir(filepath.Dir(link))
}

// targets returns what the symlink points to, and what it would contain to point to a path in
// the same way.
func targets(l host.Layout, to string) (before, after string, err error) {
	if before, err = os.Readlink(l.At(host.Link)); err != nil {
		return "", "", fmt.Errorf("reading what %s points to: %w", host.Link, err)
	}
	if filepath.IsAbs(before) {
		return before, to, nil
	}
	after, err = filepath.Rel(filepath.Dir(host.Link), to)
	return before, after, err
}

// rightTarget returns the image that the symlink should point to. That is the one that runs
// if another program has activated a newer one, for example Flatcar's timer before the agent
// was installed: otherwise any reboot would start that version outside a window. It is also
// the one that runs if the file that the symlink points to is gone: the next boot would bring
// no Kubernetes. If the symlink points to an older version, a person wants to go back, and it
// stays. The note says why the target is wrong, or that it cannot be corrected.
func rightTarget(l host.Layout) (to host.Image, note string, err error) {
	active, err := l.Active()
	if err != nil {
		return host.Image{}, "", err
	}
	runs, err := running(l)
	if err != nil {
		return host.Image{}, "", err
	}
	gone := !onDisk(l, active)
	switch {
	case runs == active || !gone && !runs.Kubernetes.Less(active.Kubernetes):
		return active, "", nil
	case !onDisk(l, runs):
		return active, fmt.Sprintf("%s points to %s but %s runs, and its image is gone: the symlink was not changed", host.Link, active.Version(), runs.Version()), nil
	case gone:
		return runs, fmt.Sprintf("%s pointed to %s, whose image is gone; it points to %s again, which runs", host.Link, active.Version(), runs.Version()), nil
	}
	return runs, fmt.Sprintf("%s pointed to %s, which was not released; it points to %s again, which runs", host.Link, active.Version(), runs.Version()), nil
}

// correctLink points the symlink to the image that rightTarget returns, where it is kept. If
// it moves the symlink to another version, the reboot that the timer requested is no longer
// needed. It returns rightTarget's note.
func correctLink(l host.Layout) (note string, err error) {
	to, note, err := rightTarget(l)
	if err != nil || !isFile(l.At(to.Path())) {
		return note, err
	}
	active, err := l.Active()
	if err != nil {
		return "", err
	}
	var ignored error
	if active != to {
		ignored = l.IgnoreRebootFile()
	}
	if err := flip(l, to.Path()); err != nil {
		return "", err
	}
	return note, ignored
}

// onDisk reports whether there is an image, kept or where its publisher puts it.
func onDisk(l host.Layout, image host.Image) bool {
	return isFile(l.At(image.Path())) || isFile(l.At(image.PublishedPath()))
}

// isFile reports whether there is a file that is not empty.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}
