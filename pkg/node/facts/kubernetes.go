package facts

import (
	"net"
	"net/url"
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
var patchFile = regexp.MustCompile(`^(etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubeletconfiguration|corednsdeployment)` +
	`[^.+]*(\+(strategic|merge|json))?\.(json|yaml)$`)

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

// Patches returns the files of the patches that an upgrade of this node applies.
func (k *Kubelet) Patches() (files []host.File) {
	for _, dir := range k.g.namedPatches() {
		if dir == "" {
			continue
		}
		for _, name := range k.g.list(dir) {
			if patchFile.MatchString(name) {
				files = append(files, host.File{Path: filepath.Join(dir, name), Content: k.g.readIfThere(filepath.Join(dir, name))})
			}
		}
	}
	return files
}

// Upgrade is what the administrators' UpgradeConfiguration leaves out.
type Upgrade struct {
	// KeepsEtcd reports whether etcd is not upgraded.
	KeepsEtcd bool
	// SkipPhases are the phases of `kubeadm upgrade apply` that do not run.
	SkipPhases []string
}

// Upgrade returns what UserConfig leaves out.
func (k *Kubelet) Upgrade() (u Upgrade) {
	for document := range strings.SplitSeq(string(k.g.readIfThere(kubeadm.UserConfig)), "\n---") {
		var config struct {
			Kind  string
			Apply struct {
				EtcdUpgrade *bool
				SkipPhases  []string
			}
		}
		if err := yaml.Unmarshal([]byte(document), &config); err == nil && config.Kind == "UpgradeConfiguration" {
			u.KeepsEtcd = config.Apply.EtcdUpgrade != nil && !*config.Apply.EtcdUpgrade
			u.SkipPhases = append(u.SkipPhases, config.Apply.SkipPhases...)
		}
	}
	return u
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

// advertised is the annotation of kube-apiserver's manifest with its address and port (kubeadm
// 1.35, app/constants).
const advertised = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"

// ownAPIServer finds out whether the kubelet talks to the kube-apiserver of its own node.
func (g *gatherer) ownAPIServer() {
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				Proxy  string `json:"proxy-url"`
			}
		}
	}
	pod, err := g.own.StaticPod("kube-apiserver")
	if err != nil || pod == nil || yaml.Unmarshal(g.readIfThere(host.KubeletAccess), &config) != nil || len(config.Clusters) != 1 {
		return
	}
	cluster, own := config.Clusters[0].Cluster, pod.pod.Annotations[advertised]
	server, err := url.Parse(cluster.Server)
	if err != nil || own == "" || cluster.Proxy != "" { // where the proxy leads is not known
		return
	}
	g.facts.OwnAPIServer = server.Host == own || net.ParseIP(server.Hostname()).IsLoopback()
}

func (g *gatherer) isControlPlane() bool { return g.own.HasManifest("kube-apiserver") }
