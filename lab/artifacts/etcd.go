package artifacts

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// etcdServer is the module of etcd itself, and etcdTools those of etcdctl and etcdutl.
const etcdServer = "go.etcd.io/etcd/server/v3"

var etcdTools = []string{"go.etcd.io/etcd/etcdctl/v3", "go.etcd.io/etcd/etcdutl/v3"}

// etcdClient2 is etcd's oldest client, which the server of 3.5 requires. Its v2.305.24 is
// 3.5.24.
const etcdClient2 = "go.etcd.io/etcd/client/v2"

// Etcd builds etcd, etcdctl and etcdutl, and returns their folder.
func (c *Cache) Etcd(ctx context.Context, version string) (string, error) {
	return c.obtain(artifact{
		name:   "etcd-v" + version,
		recipe: goEnv,
		step:   "etcd " + version + " (compiling)",
		build:  func(dir string) error { return c.buildEtcd(ctx, version, dir) },
	})
}

// buildEtcd builds the server and its tools as two modules, so that tools of a later patch
// cannot change the server, which would then report their version.
func (c *Cache) buildEtcd(ctx context.Context, version, dir string) error {
	if err := c.buildEtcdServer(ctx, version, dir); err != nil {
		return err
	}
	tools := goModule{cache: c, name: "etcd-tools-v" + version}
	requires := make([]string, 0, len(etcdTools))
	for _, path := range etcdTools {
		nearest, err := tools.nearest(ctx, path, "v"+version)
		if err != nil {
			return err
		}
		requires = append(requires, path+"@"+nearest)
	}
	if err := tools.prepare(ctx, imports(etcdTools), requires, nil); err != nil {
		return err
	}
	return tools.build(ctx, dir, "-s -w", etcdTools...)
}

func (c *Cache) buildEtcdServer(ctx context.Context, version, dir string) error {
	server := goModule{cache: c, name: "etcd-v" + version}
	var replaces []string
	if patch, old := strings.CutPrefix(version, "3.5."); old {
		nearest, err := server.nearest(ctx, etcdClient2, "v2.305."+patch)
		if err != nil {
			return err
		}
		replaces = append(replaces, etcdClient2+"="+etcdClient2+"@"+nearest)
	}
	if err := server.prepare(ctx, imports([]string{etcdServer}), []string{etcdServer + "@v" + version}, replaces); err != nil {
		return err
	}
	if err := server.build(ctx, dir, "-s -w", etcdServer); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
}
