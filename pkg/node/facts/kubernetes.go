package facts

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

// certificates collects those in kubeadm's folders, in its kubeconfigs, and those that its
// kubeconfigs name, such as the kubelet's, wherever it is. It omits the kubelet's serving
// certificate, which no program has to trust.
func (g *gatherer) certificates() {
	if path := g.own.rotatedCertificate(); path != "" && g.exists(path) {
		g.certificateFile(path)
	}
	for _, path := range g.certificateFiles() {
		g.certificateFile(path)
	}
	for _, name := range g.list(kubernetesDir) {
		if strings.HasSuffix(name, ".conf") {
			g.kubeconfig(filepath.Join(kubernetesDir, name))
		}
	}
	slices.SortFunc(g.facts.Certificates, func(a, b v1alpha1.CertificateFacts) int { return strings.Compare(a.Path, b.Path) })
}

func (g *gatherer) exists(path string) bool {
	_, err := os.Stat(g.At(path))
	return err == nil
}

// certificateFiles returns the certificates in kubeadm's folders. It does not descend
// further, because people keep copies of old certificates there.
func (g *gatherer) certificateFiles() []string {
	const dir = kubernetesDir + "/pki"
	var paths []string
	for _, dir := range []string{dir, dir + "/etcd"} {
		for _, name := range g.list(dir) {
			if strings.HasSuffix(name, ".crt") {
				paths = append(paths, filepath.Join(dir, name))
			}
		}
	}
	return paths
}

// certificateFile adds the certificate in a file. A .pem with only a key has none. An empty file
// is what a full disk leaves.
func (g *gatherer) certificateFile(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	if len(data) == 0 || strings.HasSuffix(path, ".crt") || bytes.Contains(data, []byte("BEGIN CERTIFICATE")) {
		g.certificate(path, data)
	}
}

// certificate adds the first certificate in data. Those after it are its issuers or, in a
// bundle of CAs, older ones.
func (g *gatherer) certificate(path string, data []byte) {
	if slices.ContainsFunc(g.facts.Certificates, func(c v1alpha1.CertificateFacts) bool { return c.Path == path }) {
		return
	}
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			g.problem("%s has no certificate", path)
			return
		}
		if data = rest; block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			g.problem("decoding the certificate in %s: %v", path, err)
			return
		}
		g.facts.Certificates = append(g.facts.Certificates, v1alpha1.CertificateFacts{
			Path: path, NotAfter: metav1.NewTime(certificate.NotAfter.UTC()), CA: certificate.IsCA,
		})
		return
	}
}

// kubeconfig adds the certificate in the kubeconfig, or in the file that it names. It
// ignores a .conf that is not a kubeconfig.
func (g *gatherer) kubeconfig(path string) {
	data, err := g.read(path)
	if err != nil {
		g.problem("%v", err)
		return
	}
	var config struct {
		Users []struct {
			User struct {
				Data []byte `json:"client-certificate-data"`
				File string `json:"client-certificate"`
			}
		}
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		if bytes.Contains(data, []byte("client-certificate")) {
			g.problem("decoding %s: %v", path, err)
		}
		return
	}
	for _, u := range config.Users {
		switch file := u.User.File; {
		case len(u.User.Data) > 0:
			g.certificate(path, u.User.Data)
		case file != "" && !filepath.IsAbs(file):
			g.certificateFile(filepath.Join(filepath.Dir(path), file))
		case file != "":
			g.certificateFile(file)
		}
	}
}

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
