package artifacts

import (
	"context"
	"errors"
)

// Kubernetes is one version of Kubernetes, built and packed.
type Kubernetes struct {
	// Version has no leading v: "1.34.4".
	Version string
	// BinDir holds kubeadm, kubectl, kubelet and the other programs, and
	// etcd, etcdctl and etcdutl of the version that kubeadm names.
	BinDir string
	// Sysext is the path of kubernetes-v1.34.4-x86-64.raw.
	Sysext string
	// Images are all that kubeadm needs of this version.
	Images []Image
	// Etcd, CoreDNS and Pause are the references that kubeadm names.
	Etcd, CoreDNS, Pause string
}

// Image is a container image as an archive on disk.
type Image struct {
	Ref string
	Tar string
}

// Kubernetes builds the version, such as "1.34.4", from its published
// sources.
func (c *Cache) Kubernetes(ctx context.Context, version string) (Kubernetes, error) {
	return Kubernetes{}, errors.New("not built yet")
}

// Containerd makes a sysext of Debian's containerd and runc, as Flatcar has
// one, and returns its path: a node links it as /etc/extensions/containerd.raw.
func (c *Cache) Containerd(ctx context.Context) (string, error) {
	return "", errors.New("not built yet")
}

// Rootfs makes the read-only root file system that every node lies over.
func (c *Cache) Rootfs(ctx context.Context) (string, error) {
	return "", errors.New("not built yet")
}
