package artifacts

import (
	"context"
	"os"
	"path/filepath"
)

// etcd builds etcd, etcdctl and etcdutl, and returns their folder.
func (c *Cache) etcd(ctx context.Context, version string) (string, error) {
	return c.obtain(artifact{
		name:   "etcd-v" + version,
		recipe: goEnv,
		step:   "etcd " + version + " (compiling)",
		build:  func(dir string) error { return c.buildEtcd(ctx, version, dir) },
	})
}

func (c *Cache) buildEtcd(ctx context.Context, version, dir string) error {
	packages := []string{"go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3"}
	requires := make([]string, 0, len(packages))
	for _, one := range packages {
		requires = append(requires, one+"@v"+version)
	}
	module := goModule{cache: c, name: "etcd-v" + version}
	if err := module.prepare(ctx, imports(packages), requires, nil); err != nil {
		return err
	}
	if err := module.build(ctx, dir, "-s -w", packages...); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
}
