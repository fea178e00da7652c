package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Image is an image file of the sysext-bakery, as its name describes it.
type Image struct {
	Kubernetes version.Version
	// Architecture as Kubernetes names it: amd64 or arm64.
	Architecture string
}

// ParseImageName parses a name such as kubernetes-v1.34.4-x86-64.raw. It reports
// false for every name of another form.
func ParseImageName(name string) (Image, bool) {
	v, architecture, err := image.ParseName(name)
	return Image{Kubernetes: v, Architecture: architecture}, err == nil
}

// NewImage returns the image of a version, such as v1.34.4, for an architecture.
func NewImage(kubernetes, architecture string) (Image, error) {
	image, ok := ParseImageName(image.Name(kubernetes, architecture))
	if !ok {
		return Image{}, fmt.Errorf("%q for %q is not a Kubernetes version such as v1.34.4 for amd64 or arm64", kubernetes, architecture)
	}
	return image, nil
}

// Version returns the version, such as v1.34.4.
func (i Image) Version() string { return i.Kubernetes.String() }

// Name returns the file name, such as kubernetes-v1.34.4-x86-64.raw.
func (i Image) Name() string { return image.Name(i.Version(), i.Architecture) }

// Path returns the path of the image on a managed node.
func (i Image) Path() string { return filepath.Join(KeptDir, i.Name()) }

// PublishedPath returns where the image's publisher, Ignition and the node's own
// systemd-sysupdate put it.
func (i Image) PublishedPath() string { return filepath.Join(ImagesDir, i.Name()) }

// ImagePath returns the path of the image of a version on a managed node.
func ImagePath(version, architecture string) string {
	return filepath.Join(KeptDir, image.Name(version, architecture))
}

// Architecture returns this node's architecture, as Kubernetes names it.
func Architecture() string { return runtime.GOARCH }

// Installed returns the images on the disk for this node's architecture, oldest first:
// those that are kept, and on a node that keeps none, those of ImagesDir. It ignores files
// with other names.
func (l Layout) Installed() ([]Image, error) {
	entries, err := os.ReadDir(l.At(KeptDir))
	if errors.Is(err, fs.ErrNotExist) {
		entries, err = os.ReadDir(l.At(ImagesDir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing installed images: %w", err)
	}
	var installed []Image
	for _, e := range entries {
		if image, ok := ParseImageName(e.Name()); ok && image.Architecture == Architecture() && e.Type().IsRegular() {
			installed = append(installed, image)
		}
	}
	slices.SortFunc(installed, func(a, b Image) int { return a.Kubernetes.Compare(b.Kubernetes) })
	return installed, nil
}

// Active returns the image that the symlink points to, which the next boot merges.
// It returns an error if there is no symlink or it points elsewhere.
func (l Layout) Active() (Image, error) {
	target, err := os.Readlink(l.At(Link))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Image{}, fmt.Errorf("there is no %s: Kubernetes does not come as a sysext image here", Link)
	case errors.Is(err, unix.EINVAL):
		return Image{}, fmt.Errorf("%s is no symlink, so there is no image in %s that could be replaced", Link, ImagesDir)
	case err != nil:
		return Image{}, fmt.Errorf("reading what %s points to: %w", Link, err)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(Link), target)
	}
	active, ok := ParseImageName(filepath.Base(target))
	if dir := filepath.Clean(filepath.Dir(target)); !ok || dir != KeptDir && dir != ImagesDir {
		return Image{}, fmt.Errorf("%s points to %s, not to an image such as %s/%s", Link, target, ImagesDir, image.Name("v1.34.4", Architecture()))
	}
	return active, nil
}

// Merged returns the image whose files are merged into /usr in this boot.
func (l Layout) Merged() (Image, error) {
	data, err := os.ReadFile(l.At(MergedVersionFile))
	if err != nil {
		return Image{}, fmt.Errorf("reading which Kubernetes is merged: %w", err)
	}
	image, err := NewImage(strings.TrimSpace(string(data)), Architecture())
	if err != nil {
		return Image{}, fmt.Errorf("reading which Kubernetes is merged from %s: %w", MergedVersionFile, err)
	}
	return image, nil
}
