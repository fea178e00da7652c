package artifacts

import (
	"context"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/image"
)

// etcdPrograms are in the image of etcd, at /usr/local/bin.
var etcdPrograms = []string{"etcd", "etcdctl", "etcdutl"}

// EtcdImage builds a version of etcd, such as "3.5.35", as the image that kubeadm uses when
// etcd.local.imageTag in ClusterConfiguration is "3.5.35-0".
func (c *Cache) EtcdImage(ctx context.Context, version string) (Image, error) {
	programs, err := c.Etcd(ctx, version)
	if err != nil {
		return Image{}, err
	}
	ref := "registry.k8s.io/etcd:" + version + "-0"
	dir, err := c.obtain(artifact{
		name:   "etcd-v" + version + "-image",
		recipe: []string{ref, programs},
		step:   "etcd " + version + " (container image)",
		build: func(dir string) error {
			return image.BuildImage(ref, etcdFiles(programs), nil, tarPath(dir, ref))
		},
	})
	return Image{Ref: ref, Tar: tarPath(dir, ref)}, err
}

func etcdFiles(programs string) map[string]string {
	files := map[string]string{}
	for _, program := range etcdPrograms {
		files["/usr/local/bin/"+program] = filepath.Join(programs, program)
	}
	return files
}
