package artifacts

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image"
)

// publishedPrograms are what a published version is used for outside its images: to ask
// for the images' names, by users, in broken sysexts, and by the client of tests.
var publishedPrograms = []string{"kubeadm", "kubectl", "kubelet", "kube-proxy"}

// published downloads what compiling makes otherwise.
func (c *Cache) published(ctx context.Context, version string) (Kubernetes, error) {
	k := Kubernetes{Version: version}
	var err error
	if k.BinDir, err = c.downloadPrograms(ctx, version); err != nil {
		return Kubernetes{}, err
	}
	if k.Sysext, err = c.downloadSysext(ctx, version); err != nil {
		return Kubernetes{}, err
	}
	names, err := c.imageNames(ctx, k.BinDir, version)
	if err != nil {
		return Kubernetes{}, err
	}
	k.Etcd, k.CoreDNS, k.Pause = names.etcd, names.coredns, names.pause
	refs := append([]string{names.etcd, names.coredns, names.pause}, slices.Sorted(maps.Values(names.programs))...)
	for _, ref := range refs {
		tar, err := c.pull(ctx, ref)
		if err != nil {
			return Kubernetes{}, err
		}
		k.Images = append(k.Images, Image{Ref: ref, Tar: tar})
	}
	return k, nil
}

func (c *Cache) downloadPrograms(ctx context.Context, version string) (string, error) {
	base := c.Origin.program(version, "")
	return c.obtain(artifact{
		name:   "published-v" + version + "-programs",
		recipe: append([]string{base}, publishedPrograms...),
		step:   "Kubernetes " + version + " (downloading)",
		build: func(dir string) error {
			for i, program := range publishedPrograms {
				address := base + program
				sum, err := c.readSum(ctx, address+".sha256")
				if err != nil {
					return err
				}
				part := share{number: i, of: len(publishedPrograms), name: program}
				if err := c.download(ctx, address, sum, filepath.Join(dir, program), part); err != nil {
					return err
				}
				if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

func (c *Cache) downloadSysext(ctx context.Context, version string) (string, error) {
	address := c.Origin.sysext(version)
	file := path.Base(address)
	dir, err := c.obtain(artifact{
		name:   "published-v" + version + "-sysext",
		recipe: []string{address},
		step:   "Kubernetes " + version + " (downloading the sysext)",
		build: func(dir string) error {
			index := c.Origin.sysexts() + image.IndexName
			text, err := c.read(ctx, index)
			if err != nil {
				return err
			}
			sums, err := image.ParseIndex(index, text)
			if err != nil {
				return err
			}
			if sums[file] == "" {
				return fmt.Errorf("%s does not list %s", index, file)
			}
			return c.download(ctx, address, sums[file], filepath.Join(dir, file), share{of: 1, name: file})
		},
	})
	return filepath.Join(dir, file), err
}
