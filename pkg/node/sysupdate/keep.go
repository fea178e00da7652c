package sysupdate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// keptOfMinor is how many images of a minor are kept: the one that runs, the former one and
// the next one.
const keptOfMinor = 3

// needed returns the images that must stay on the disk: the running one, the active one, and
// the one that a rollback would return to.
func needed(l host.Layout) ([]host.Image, error) {
	active, err := l.Active()
	if err != nil {
		return nil, err
	}
	current, err := running(l)
	if err != nil {
		return nil, err
	}
	images := []host.Image{current, active}
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return images, err
	}
	if from, err := host.NewImage(guard.From, host.Architecture()); err == nil {
		images = append(images, from)
	}
	return images, nil
}

// unkept returns the images that are needed, and that are only where other runs of
// systemd-sysupdate may delete them.
func unkept(l host.Layout) ([]host.Image, error) {
	images, err := needed(l)
	return slices.DeleteFunc(images, func(i host.Image) bool {
		return isFile(l.At(i.Path())) || !isFile(l.At(i.PublishedPath()))
	}), err
}

// keepNeeded keeps the images that are needed.
func keepNeeded(l host.Layout) error {
	images, err := unkept(l)
	for _, image := range images {
		err = errors.Join(err, link(l, image.PublishedPath(), image.Path()))
	}
	return err
}

// link makes another name for an image, or a copy where that is not possible: the file may
// not be changed (chattr +i), or the file system has no hard links.
func link(l host.Layout, from, to string) error {
	if err := os.MkdirAll(l.At(host.KeptDir), 0o755); err != nil { //nolint:gosec // as the folder of images that it is in
		return fmt.Errorf("making the folder of kept images: %w", err)
	}
	err := os.Link(l.At(from), l.At(to))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		err = host.CopyFile(l.At(from), l.At(to), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keeping the image %s as %s: %w", from, to, err)
	}
	return host.SyncDir(l.At(host.KeptDir))
}

// makeRoom removes the oldest images of the minor of one that is to be kept, down to
// keptOfMinor with that one, but none that is needed.
func makeRoom(l host.Layout, next host.Image) error {
	images, err := needed(l)
	if err != nil {
		return err
	}
	kept, err := l.Installed()
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(i host.Image) bool { return i.Kubernetes.Line() != next.Kubernetes.Line() })
	excess := len(kept) + 1 - keptOfMinor
	for _, image := range kept {
		if excess <= 0 || slices.Contains(images, image) {
			continue
		}
		if err := os.Remove(l.At(image.Path())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an old image: %w", err)
		}
		excess--
	}
	return nil
}

// giveBackImages puts the merged image and the one of rightTarget where their publisher puts them,
// points the symlink to the latter, and removes what was kept. It removes nothing if the symlink
// would lead nowhere: the next boot would bring no Kubernetes.
func giveBackImages(l host.Layout) error {
	if _, err := os.Stat(l.At(host.KeptDir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if merged, err := l.Merged(); err == nil {
		if err := giveBackImage(l, merged); err != nil {
			return err
		}
	}
	to, _, err := rightTarget(l)
	switch {
	case err == nil:
		err = pointBack(l, to)
	case !linksToKept(l):
		err = nil // a person's own symlink, or none
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(l.At(host.KeptDir)); err != nil {
		return fmt.Errorf("removing the kept images: %w", err)
	}
	return host.SyncDir(l.At(host.ImagesDir))
}

// pointBack points the symlink to an image where its publisher puts it.
func pointBack(l host.Layout, to host.Image) error {
	if err := giveBackImage(l, to); err != nil {
		return err
	}
	if !isFile(l.At(to.PublishedPath())) {
		return fmt.Errorf("%s would point to no file: put the image back: %s", host.Link, to.PublishedPath())
	}
	return flip(l, to.PublishedPath())
}

// linksToKept reports whether the symlink points into the folder of kept images.
func linksToKept(l host.Layout) bool {
	target, err := os.Readlink(l.At(host.Link))
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(host.Link), target)
	}
	return err == nil && strings.HasPrefix(filepath.Clean(target), host.KeptDir+"/")
}

// giveBackImage puts a kept image where its publisher puts it, in the place of another file
// that may be there.
func giveBackImage(l host.Layout, image host.Image) error {
	if !isFile(l.At(image.Path())) {
		return nil
	}
	kept, err := os.Stat(l.At(image.Path()))
	published, publishedErr := os.Stat(l.At(image.PublishedPath()))
	if err != nil || publishedErr == nil && os.SameFile(kept, published) {
		return err
	}
	aside := image.Path() + ".back"
	if err := link(l, image.Path(), aside); err != nil {
		return err
	}
	if err := os.Rename(l.At(aside), l.At(image.PublishedPath())); err != nil {
		return fmt.Errorf("giving back the image %s: %w", image.Name(), err)
	}
	return host.SyncDir(l.At(host.ImagesDir))
}
