package nodefacts

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// disks collects the free space of the folders that an upgrade writes to: images, kubeadm's
// manifests and backups, container images, etcd's data, and its snapshots. It omits those
// that do not exist, except the last, which the first snapshot creates.
func (g *gatherer) disks() {
	for _, dir := range []string{
		host.ImagesDir, filepath.Dir(host.KubernetesTmpDir), g.containerdRoot(), host.EtcdDataDir, host.SnapshotsDir,
	} {
		there := dir
		free, err := g.FreeBytes(there)
		for dir == host.SnapshotsDir && errors.Is(err, fs.ErrNotExist) && there != "/" {
			there = filepath.Dir(there)
			free, err = g.FreeBytes(there)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.problem("reading the free space in %s: %v", dir, cause(err))
			continue
		}
		g.facts.Disks = append(g.facts.Disks, v1alpha1.DiskFacts{Path: dir, FreeBytes: free, Device: g.device(there)})
	}
}

// device returns the device of a folder's file system; empty if it is not known.
func (g *gatherer) device(dir string) string {
	var st unix.Stat_t
	if err := unix.Stat(g.At(dir), &st); err != nil {
		g.problem("reading the file system of %s: %v", dir, err)
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
}

// containerdRoot returns the folder in which containerd keeps images, according to its
// unit's command line, or to its configuration.
func (g *gatherer) containerdRoot() string {
	const usual, usualConfig = "/var/lib/containerd", "/etc/containerd/config.toml"
	flags := g.flagsOf("containerd.service", "")
	if root := flags.value("root"); root != "" {
		return root
	}
	config := cmp.Or(flags.value("config", "c"), usualConfig)
	return cmp.Or(tomlRoot(string(g.readIfThere(config))), usual)
}

// tomlRoot returns the value of the key root before the first table.
func tomlRoot(config string) string {
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			return ""
		}
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) != "root" {
			continue
		}
		value, _, _ = strings.Cut(value, "#")
		return strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return ""
}
