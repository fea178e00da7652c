package artifacts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// clusterAPI is the module of Cluster API's controllers, at the version that the lab runs.
// Their API is a module of its own, of the same version.
const (
	clusterAPI        = "sigs.k8s.io/cluster-api"
	ClusterAPIVersion = "1.14.2"
)

// ClusterAPIProviders are the providers of Cluster API that the lab runs, and their folders
// in its module. Each has a main package, and its definitions in config.
var ClusterAPIProviders = map[string]string{
	"core":         "core",
	"bootstrap":    "bootstrap/kubeadm",
	"controlplane": "controlplane/kubeadm",
}

// ClusterAPI builds the controllers of Cluster API, and returns a folder that has for each
// provider the program NAME/manager, its custom resource definitions in NAME/crd, and its
// webhooks in NAME/webhook/manifests.yaml.
func (c *Cache) ClusterAPI(ctx context.Context) (string, error) {
	return c.obtain(artifact{
		name:   "cluster-api-v" + ClusterAPIVersion,
		recipe: append([]string{clusterAPIFlags()}, goEnv...),
		step:   "Cluster API " + ClusterAPIVersion + " (compiling)",
		build:  func(dir string) error { return c.buildClusterAPI(ctx, dir) },
	})
}

func (c *Cache) buildClusterAPI(ctx context.Context, dir string) error {
	module := goModule{cache: c, name: "cluster-api-v" + ClusterAPIVersion}
	source, err := module.source(ctx, clusterAPI+"@v"+ClusterAPIVersion)
	if err != nil {
		return err
	}
	var packages []string
	for _, folder := range ClusterAPIProviders {
		packages = append(packages, clusterAPI+"/"+folder)
	}
	// In its own repository the module finds its API in a folder.
	api := clusterAPI + "/api=" + clusterAPI + "/api@v" + ClusterAPIVersion
	if err := module.prepare(ctx, imports(packages), []string{clusterAPI + "@v" + ClusterAPIVersion}, []string{api}); err != nil {
		return err
	}
	for name, folder := range ClusterAPIProviders {
		target := filepath.Join(dir, name)
		// Two of the packages have the same last name, so each program is built into a folder of its own.
		if err := module.build(ctx, target, clusterAPIFlags(), clusterAPI+"/"+folder); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(target, filepath.Base(folder)), filepath.Join(target, "manager")); err != nil {
			return err
		}
		config := filepath.Join(source, filepath.FromSlash(folder), "config")
		if err := copyYAML(filepath.Join(config, "crd", "bases"), filepath.Join(target, "crd")); err != nil {
			return err
		}
		if err := copyYAML(filepath.Join(config, "webhook"), filepath.Join(target, "webhook")); err != nil {
			return err
		}
	}
	return nil
}

// clusterAPIFlags have the controllers report the version that they are.
func clusterAPIFlags() string {
	minor := strings.Split(ClusterAPIVersion, ".")[1]
	const path = clusterAPI + "/version"
	return fmt.Sprintf("-s -w -X %[1]s.gitVersion=v%[2]s -X %[1]s.gitMajor=1 -X %[1]s.gitMinor=%[3]s", path, ClusterAPIVersion, minor)
}

// copyYAML copies the YAML files of a folder.
func copyYAML(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := fs.Glob(os.DirFS(from), "*.yaml")
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
