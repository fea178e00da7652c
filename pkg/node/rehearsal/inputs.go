package rehearsal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
)

// inputDirs and inputFiles are what decides about the result of a rehearsal beside the images.
var (
	inputDirs = append(slices.Clone(host.ExtensionDirs), "/var/lib/extensions.mutable",
		"/etc/systemd/system", "/etc/systemd/system/kubelet.service.d", "/etc/systemd/system/containerd.service.d",
		"/run/systemd/system/kubelet.service.d", "/run/systemd/system/containerd.service.d")
	inputFiles = []string{"/etc/fstab", kubeadm.UserConfig, "/etc/os-release", host.KubeletFlags, host.KubeletConfig, "/etc/default/kubelet", "/etc/sysconfig/kubelet"}
)

// fingerprint returns a text that changes with what a rehearsal of the versions reads. It opens no file: times and sizes
// tell. What is merged now, and how the node's services would be started, is part of it.
func fingerprint(l host.Layout, versions []string, kubelet *facts.Kubelet) string {
	hash := sha256.New()
	for _, version := range versions {
		describe(hash, l, host.ImagePath(version, host.Architecture()))
	}
	for _, dir := range append(slices.Clone(inputDirs), kubelet.ManifestsDir()) {
		describeDir(hash, l, dir)
	}
	files := append(slices.Clone(inputFiles), kubeadm.PulledFile(host.OnNode))
	for _, unit := range []string{"kubelet.service", "containerd.service"} {
		files = append(files, facts.ReadUnitFile(l, unit).Path)
	}
	for _, component := range components {
		if pod, err := kubelet.StaticPod(component); err == nil && pod != nil {
			files = append(files, filesOf(pod)...)
		}
	}
	for _, patch := range kubelet.Patches() {
		files = append(files, patch.Path)
	}
	for _, file := range append(files, kubelet.ConfigFiles()...) {
		describe(hash, l, file)
	}
	_, _ = fmt.Fprintf(hash, "%+v\n", look(l))
	return hex.EncodeToString(hash.Sum(nil))
}

func describeDir(to io.Writer, l host.Layout, dir string) {
	entries, err := os.ReadDir(l.At(dir))
	if err != nil {
		return
	}
	for _, e := range entries {
		describe(to, l, filepath.Join(dir, e.Name()))
	}
}

// describe writes what a path is: the target of a symlink, and the size and the time of a file.
func describe(to io.Writer, l host.Layout, path string) {
	target, _ := os.Readlink(l.At(path))
	info, err := os.Stat(l.At(path))
	if err != nil {
		_, _ = fmt.Fprintln(to, path, target, "is not there")
		return
	}
	_, _ = fmt.Fprintln(to, path, target, info.Mode(), info.Size(), info.ModTime().UnixNano())
}
