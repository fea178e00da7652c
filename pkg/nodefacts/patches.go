package nodefacts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
)

const kubernetesDir = "/etc/kubernetes"

// patchFile is how kubeadm wants the files of its patches to be named:
// target[suffix][+type].extension (kubeadm 1.35, app/util/patches).
var patchFile = regexp.MustCompile(`^(etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubeletconfiguration|corednsdeployment)[^.+]*(\+(strategic|merge|json))?\.(json|yaml)$`)

// notPatches have files of the same names that are something else.
var notPatches = []string{"manifests", "pki", "tmp"}

// patches looks for a folder of kubeadm patches that the upgrade would leave
// out. kubeadm init and join are told of it on the node and keep it nowhere, so
// it is recognised by its files: in practice it lies below /etc/kubernetes or
// /etc/kubeadm, and mostly is called patches.
func (g *gatherer) patches() {
	var named []string
	for _, dir := range g.patchDirs() {
		if !slices.ContainsFunc(g.list(dir), patchFile.MatchString) {
			continue
		}
		if named == nil {
			named = g.namedPatches()
		}
		isNamed := slices.ContainsFunc(named, func(other string) bool { return g.sameDir(dir, other) })
		better := filepath.Base(dir) == "patches" && filepath.Base(g.facts.KubeadmPatches) != "patches"
		if !isNamed && (g.facts.KubeadmPatches == "" || better) {
			g.facts.KubeadmPatches = dir
		}
	}
}

// patchDirs are the folders where patches may lie: two levels deep.
func (g *gatherer) patchDirs() []string {
	const kubeadmDir = "/etc/kubeadm"
	upper := append(g.foldersIn(kubernetesDir), g.foldersIn(kubeadmDir)...)
	dirs := append(slices.Clone(upper), kubeadmDir)
	for _, dir := range upper {
		dirs = append(dirs, g.foldersIn(dir)...)
	}
	return dirs
}

func (g *gatherer) foldersIn(dir string) []string {
	var folders []string
	for _, name := range g.list(dir) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(g.At(path)); err == nil && info.IsDir() && !slices.Contains(notPatches, name) {
			folders = append(folders, path)
		}
	}
	return folders
}

// sameDir reports whether two paths name the same folder, also by a link.
func (g *gatherer) sameDir(a, b string) bool {
	if a == b || b == "" {
		return a == b
	}
	left, err := os.Stat(g.At(a))
	if err != nil {
		return false
	}
	right, err := os.Stat(g.At(b))
	return err == nil && os.SameFile(left, right)
}

// namedPatches are the folders that both kinds of upgrade on this node are told
// of. Which control-plane node gets `upgrade apply` is not known beforehand; a
// worker gets `upgrade node` alone.
func (g *gatherer) namedPatches() []string {
	type patches struct{ Patches struct{ Directory string } }
	named := []string{""}
	for document := range strings.SplitSeq(string(g.readIfThere(kubeadm.UserConfig)), "\n---") {
		var config struct {
			Kind        string
			Apply, Node patches
		}
		if err := yaml.Unmarshal([]byte(document), &config); err != nil {
			g.problem("decoding %s: %v", kubeadm.UserConfig, err)
			continue
		}
		apply, node := config.Apply.Patches.Directory, config.Node.Patches.Directory
		if config.Kind != "UpgradeConfiguration" || g.isControlPlane() && filepath.Clean(apply) != filepath.Clean(node) {
			continue
		}
		named = append(named, filepath.Clean(node))
	}
	return named
}

// kubeletPatch is a file of kubeadm's patches for the kubelet's configuration that
// reads as a part of one. A JSON patch is a list of steps instead.
var kubeletPatch = regexp.MustCompile(`^kubeletconfiguration[^.+]*(\+(strategic|merge))?\.(json|yaml)$`)

// kubeletPatches are those that an upgrade of this node will be told of.
func (g *gatherer) kubeletPatches() []string {
	var paths []string
	for _, dir := range g.namedPatches() {
		if dir == "" {
			continue
		}
		for _, name := range g.list(dir) {
			if kubeletPatch.MatchString(name) {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

func (g *gatherer) isControlPlane() bool {
	_, err := os.Stat(g.At(host.ManifestsDir, "kube-apiserver.yaml"))
	return err == nil
}
