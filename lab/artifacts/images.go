package artifacts

import (
	"context"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

// contents is what an image holds, before it is made.
type contents struct {
	files      map[string]string // paths in the image to files of this machine
	entrypoint []string
}

// images makes the container images of a version.
func (c *Cache) images(ctx context.Context, k Kubernetes, names imageNames) ([]Image, error) {
	all, err := c.contents(ctx, k, names)
	if err != nil {
		return nil, err
	}
	refs := slices.Sorted(maps.Keys(all))
	recipe := []string{}
	for _, ref := range refs {
		recipe = append(append(recipe, ref), all[ref].entrypoint...)
		for _, name := range slices.Sorted(maps.Keys(all[ref].files)) {
			recipe = append(recipe, name, all[ref].files[name])
		}
	}
	dir, err := c.obtain(artifact{
		name:   "kubernetes-v" + k.Version + "-images",
		recipe: recipe,
		step:   "Kubernetes " + k.Version + " (container images)",
		build: func(dir string) error {
			for _, ref := range refs {
				if err := ctx.Err(); err != nil {
					return context.Cause(ctx)
				}
				if err := image.BuildImage(ref, all[ref].files, all[ref].entrypoint, tarPath(dir, ref)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	made := make([]Image, 0, len(refs))
	for _, ref := range refs {
		made = append(made, Image{Ref: ref, Tar: tarPath(dir, ref)})
	}
	return made, nil
}

// contents says what each image holds. The programs lie where kubeadm's
// manifests look for them: most in PATH, kube-proxy by its full path.
func (c *Cache) contents(ctx context.Context, k Kubernetes, names imageNames) (map[string]contents, error) {
	coredns, err := c.coredns(ctx, names.corednsVersion())
	if err != nil {
		return nil, err
	}
	pause, err := c.pause(ctx)
	if err != nil {
		return nil, err
	}
	rootfs, err := c.Rootfs(ctx, DefaultBase)
	if err != nil {
		return nil, err
	}
	all := map[string]contents{
		names.coredns: {files: map[string]string{"/coredns": filepath.Join(coredns, "coredns")}, entrypoint: []string{"/coredns"}},
		names.pause:   {files: map[string]string{"/pause": filepath.Join(pause, "pause")}, entrypoint: []string{"/pause"}},
		names.etcd:    {files: etcdFiles(k.EtcdBinDir)},
	}
	for program, ref := range names.programs {
		all[ref] = contents{files: map[string]string{"/usr/local/bin/" + program: filepath.Join(k.BinDir, program)}}
	}
	return all, packetFilter(all[names.programs["kube-proxy"]].files, rootfs, debianLibraries[runtime.GOARCH])
}

// packetFilter adds the tools with which kube-proxy sets its rules.
func packetFilter(files map[string]string, rootfs string, l libraries) error {
	for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		files["/usr/sbin/"+name] = filepath.Join(rootfs, "usr/sbin/xtables-nft-multi")
	}
	for _, name := range []string{"/usr/sbin/nft", "/usr/sbin/conntrack", "/usr/bin/ip"} {
		files[name] = filepath.Join(rootfs, name)
	}
	matches, err := filepath.Glob(filepath.Join(rootfs, l.dir, "xtables", "*.so"))
	if err != nil {
		return err
	}
	for _, match := range matches {
		files[filepath.Join(l.dir, "xtables", filepath.Base(match))] = match
	}
	return l.addTo(files, rootfs)
}

func tarPath(dir, ref string) string {
	return filepath.Join(dir, repositoryOf(ref)+".tar")
}
