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

// Root is the folder that the pod and the node share, at the same path in both.
const Root = "/opt/kubectl-upgrade"

// SystemBus is the D-Bus address of the node's system bus.
const SystemBus = "unix:path=/run/dbus/system_bus_socket"

// ImageProgram is the program for nodes in the agent's container image.
const ImageProgram = "/node-agent"

// Program returns the path of the installed program, see Install.
func Program(root string) string { return filepath.Join(root, "bin", "node-agent") }

// StateDir returns the folder of requests, results, records and kubeadm's logs.
func StateDir(root string) string { return filepath.Join(root, "state") }

// KubeadmLog is the file in the state folder with the output of the current or the last run
// of kubeadm.
const KubeadmLog = "kubeadm.log"

// ImageMount is where a verb's unit mounts the staged image, see Options.
const ImageMount = "/run/kubectl-upgrade/image"

// DefinitionsDir returns the folder of the definitions that staging passes to
// systemd-sysupdate.
func DefinitionsDir(root string) string { return filepath.Join(root, "definitions") }

// KeptDir has the images that a managed node needs: the one that runs, the one to return
// to, the staged one. No transfer definition covers it, so systemd-sysupdate deletes none
// of them. It is below ImagesDir, so that an image there can be kept by a hard link.
const KeptDir = ImagesDir + "/kubectl-upgrade"

// StagingDir is what systemd-sysupdate downloads into for the verb "stage".
const StagingDir = KeptDir + "/staging"

// Paths of the bakery's image and conf on a node
// (https://flatcar.github.io/sysext-bakery/kubernetes/).
const (
	ImagesDir         = "/opt/extensions/kubernetes"
	Link              = "/etc/extensions/kubernetes.raw"
	ConfDir           = "/etc/sysupdate.kubernetes.d"
	MergedVersionFile = "/usr/local/share/kubernetes-version"
	Sysupdate         = "/usr/lib/systemd/systemd-sysupdate"
)

// Paths of the files of kubeadm and the kubelet.
const (
	ManifestsDir     = "/etc/kubernetes/manifests"
	KubernetesTmpDir = "/etc/kubernetes/tmp"
	EtcdDataDir      = "/var/lib/etcd"
	KubeletAccess    = "/etc/kubernetes/kubelet.conf" // written when the node joins
	KubeletConfig    = "/var/lib/kubelet/config.yaml"
	KubeletFlags     = "/var/lib/kubelet/kubeadm-flags.env"
)

// SnapshotsDir has the snapshots of etcd. It is outside Root, because the agent's
// pod can read Root and a snapshot contains every Secret of the cluster.
const SnapshotsDir = "/var/lib/kubectl-upgrade/snapshots"

// CertificatesCopy has the certificates and keys that were there before, while they are being renewed. It is
// outside Root, because the agent's pod can read Root.
const CertificatesCopy = "/var/lib/kubectl-upgrade/certificates.json"

const (
	bootIDFile         = "/proc/sys/kernel/random/boot_id"
	rebootRequiredFile = "/run/reboot-required"
)

// Layout is a node's file system: "/" on the node itself, a folder in a test.
type Layout struct{ Dir string }

// OnNode is the layout of the node that this program runs on.
var OnNode = Layout{Dir: "/"}

// At returns the path in the layout of an absolute path of the node.
func (l Layout) At(elem ...string) string {
	return filepath.Join(append([]string{l.Dir}, elem...)...)
}

// Root returns the shared folder.
func (l Layout) Root() string { return l.At(Root) }

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
