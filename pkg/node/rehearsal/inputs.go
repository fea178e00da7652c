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
)

// inputDirs and inputFiles are what decides about the result of a rehearsal beside the images.
var (
	inputDirs = append(slices.Clone(extensionDirs), "/var/lib/extensions.mutable",
		"/etc/systemd/system", "/etc/systemd/system/kubelet.service.d", "/etc/systemd/system/containerd.service.d",
		"/run/systemd/system/kubelet.service.d", "/run/systemd/system/containerd.service.d")
	inputFiles = []string{"/etc/fstab", "/etc/os-release", host.KubeletFlags, host.KubeletConfig, "/etc/default/kubelet", "/etc/sysconfig/kubelet"}
)

// fingerprint returns a text that changes with what a rehearsal of the versions reads; kubeletFiles are its configuration. It opens no file: times and sizes
// tell. The names of the merged extensions are part of it.
func fingerprint(l host.Layout, versions, kubeletFiles []string) string {
	hash := sha256.New()
	for _, version := range versions {
		describe(hash, l, host.ImagePath(version, host.Architecture()))
	}
	for _, dir := range inputDirs {
		describeDir(hash, l, dir)
	}
	files := slices.Clone(inputFiles)
	for _, unit := range []string{"kubelet.service", "containerd.service"} {
		files = append(files, facts.ReadUnitFile(l, unit).Path)
	}
	for _, file := range append(files, kubeletFiles...) {
		describe(hash, l, file)
	}
	_, _ = fmt.Fprintln(hash, look(l).Extensions)
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
