package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kubernetesCommands are the programs of Kubernetes that a cluster runs, and
// the kubectl that comes with them.
var kubernetesCommands = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubeadm", "kube-proxy", "kubectl"}

// programs builds Kubernetes, and returns the folder of its programs.
func (c *Cache) programs(ctx context.Context, version string) (string, error) {
	return c.obtain(artifact{
		name:   "kubernetes-v" + version + "-programs",
		recipe: append(append([]string{}, goEnv...), append(kubernetesCommands, versionFlags(version))...),
		step:   "Kubernetes " + version + " (compiling)",
		build:  func(dir string) error { return c.buildKubernetes(ctx, version, dir) },
	})
}

func (c *Cache) buildKubernetes(ctx context.Context, version, dir string) error {
	module := goModule{cache: c, name: "kubernetes-v" + version}
	source, err := module.source(ctx, "k8s.io/kubernetes@v"+version)
	if err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return err
	}
	packages := make([]string, 0, len(kubernetesCommands))
	for _, name := range kubernetesCommands {
		packages = append(packages, "k8s.io/kubernetes/cmd/"+name)
	}
	requires, replaces, err := kubernetesModules(goMod, version)
	if err != nil {
		return err
	}
	if err := module.prepare(ctx, imports(packages), requires, replaces); err != nil {
		return err
	}
	return module.build(ctx, dir, versionFlags(version), packages...)
}

// versionFlags has the programs report the version that they are: kubeadm
// goes by it when it decides what it may upgrade.
func versionFlags(version string) string {
	minor := strings.Split(version, ".")[1]
	flags := "-s -w"
	for _, path := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %s.gitVersion=v%s -X %s.gitMajor=1 -X %s.gitMinor=%s", path, version, path, path, minor)
	}
	return flags
}
