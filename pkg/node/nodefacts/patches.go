package nodefacts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

const kubernetesDir = "/etc/kubernetes"

// patchFile matches the names of kubeadm's patches: target[suffix][+type].extension
// (kubeadm 1.35, app/util/patches).
var patchFile = regexp.MustCompile(`^(etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubeletconfiguration|corednsdeployment)[^.+]*(\+(strategic|merge|json))?\.(json|yaml)$`)

// notPatches are folders with files of such names that are not patches.
var notPatches = []string{"manifests", "pki", "tmp"}

// patches finds a folder of kubeadm patches that the upgrade would omit. kubeadm init and
// join do not record its path, so it is recognised by its files: in practice it is below
// /etc/kubernetes or /etc/kubeadm, and mostly named patches.
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

// patchDirs returns the folders that may have patches, two levels deep.
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

// namedPatches returns the folders of patches that UserConfig names for this node. On a
// control-plane node it has to name them for both `upgrade apply` and `upgrade node`,
// because it is not known which of these will run there.
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

// kubeletPatch matches the names of kubeadm's patches that are a part of a kubelet's
// configuration. A JSON patch is a list of operations instead.
var kubeletPatch = regexp.MustCompile(`^kubeletconfiguration[^.+]*(\+(strategic|merge))?\.(json|yaml)$`)

// kubeletPatches returns the paths of those that an upgrade of this node applies.
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
