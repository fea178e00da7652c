package artifacts

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// Kubernetes is one version of Kubernetes, built and packed.
type Kubernetes struct {
	// Version has no leading v: "1.34.4".
	Version string
	// BinDir holds kubeadm, kubectl, kubelet, kube-proxy, and the other programs if they
	// were built.
	BinDir string
	// EtcdBinDir holds etcd, etcdctl and etcdutl of the version that kubeadm
	// names. Empty: the version was downloaded.
	EtcdBinDir string
	// Sysext is the path of kubernetes-v1.34.4-x86-64.raw, or -arm64.raw.
	Sysext string
	// Images are all that kubeadm needs for this version.
	Images []Image
	// Etcd, CoreDNS and Pause are the references that kubeadm names.
	Etcd, CoreDNS, Pause string
}

// Image is a container image as an archive on disk.
type Image struct {
	// Ref is the full reference, "registry.k8s.io/pause:3.10.1".
	Ref string
	// Tar is the path of the archive.
	Tar string
}

var patchVersion = regexp.MustCompile(`^1\.\d+\.\d+$`)

// Kubernetes downloads a version, such as "1.34.4", from the cache's Origin, or builds
// it from its published sources, with the etcd, CoreDNS and pause images that its
// kubeadm names. A version takes minutes when it is first compiled.
func (c *Cache) Kubernetes(ctx context.Context, version string) (Kubernetes, error) {
	if !patchVersion.MatchString(version) {
		return Kubernetes{}, fmt.Errorf("%q is not a Kubernetes version: write it as 1.34.4", version)
	}
	if c.Origin.used {
		return c.published(ctx, version)
	}
	binDir, err := c.programs(ctx, version)
	if err != nil {
		return Kubernetes{}, err
	}
	return c.pack(ctx, version, binDir)
}

// pack makes the sysext and the container images of a version, out of its programs.
func (c *Cache) pack(ctx context.Context, version, binDir string) (Kubernetes, error) {
	k := Kubernetes{Version: version, BinDir: binDir}
	names, err := c.imageNames(ctx, k.BinDir, version)
	if err != nil {
		return Kubernetes{}, err
	}
	k.Etcd, k.CoreDNS, k.Pause = names.etcd, names.coredns, names.pause
	if k.EtcdBinDir, err = c.Etcd(ctx, names.etcdVersion()); err != nil {
		return Kubernetes{}, err
	}
	if k.Sysext, err = c.kubernetesSysext(ctx, version, k.BinDir, BrokenKind{}); err != nil {
		return Kubernetes{}, err
	}
	if k.Images, err = c.images(ctx, k, names); err != nil {
		return Kubernetes{}, err
	}
	return k, nil
}

// kubernetesSysext packs the programs of a node as an image of that kind, and returns
// it.
func (c *Cache) kubernetesSysext(ctx context.Context, version, binDir string, kind BrokenKind) (string, error) {
	rootfs, err := c.Rootfs(ctx, DefaultBase)
	if err != nil {
		return "", err
	}
	tree, err := kubernetesTree(version, binDir, rootfs)
	if err != nil {
		return "", err
	}
	if err := c.spoil(ctx, &tree, kind); err != nil {
		return "", err
	}
	image := image.Name("v"+version, runtime.GOARCH)
	name := strings.TrimSuffix("sysext-"+kind.Name, "-")
	dir, err := c.obtain(artifact{
		name:   "kubernetes-v" + version + "-" + name,
		recipe: tree.recipe(),
		step:   "Kubernetes " + version + " (" + name + ")",
		build:  func(dir string) error { return c.squash(ctx, tree, "/", filepath.Join(dir, image)) },
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, image), nil
}
