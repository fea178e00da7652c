package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// backupsKept is how many of each kind stay in /etc/kubernetes/tmp.
const backupsKept = 5

// backupKinds match the folders that a kubeadm upgrade creates and never removes
// (kubeadm 1.34, phases/upgrade/staticpods.go and postupgrade.go).
var backupKinds = []string{
	"kubeadm-backup-manifests-*", "kubeadm-backup-etcd-*", "kubeadm-upgraded-manifests*", "kubeadm-kubelet-config*",
}

// byAge returns the folders in /etc/kubernetes/tmp that match the pattern, newest first.
func byAge(l host.Layout, pattern string) ([]string, error) {
	dirs, err := filepath.Glob(l.At(host.KubernetesTmpDir, pattern))
	if err != nil {
		return nil, err
	}
	times := map[string]int64{}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("listing kubeadm's backups: %w", err)
		}
		times[dir] = info.ModTime().UnixNano()
	}
	slices.SortFunc(dirs, func(a, b string) int { return int(times[b] - times[a]) })
	return dirs, nil
}

// pruneBackups removes all but the newest few of each kind: every run copies etcd's data.
func pruneBackups(l host.Layout) error {
	for _, kind := range backupKinds {
		dirs, err := byAge(l, kind)
		if err != nil {
			return err
		}
		for _, dir := range dirs[min(len(dirs), backupsKept):] {
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("removing an old backup of kubeadm: %w", err)
			}
		}
	}
	return nil
}

// room is a generous bound for manifests, logs and certificates.
const room = 64 << 20

// checkRoom returns an error unless there is space for kubeadm's copy of etcd's data.
// kubeadm makes this copy even if etcd is not upgraded.
func checkRoom(l host.Layout) error {
	need := int64(room)
	err := filepath.WalkDir(l.At(host.EtcdDataDir), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err == nil {
			need += info.Size()
		}
		return ignoreMissing(err)
	})
	if err != nil {
		return fmt.Errorf("reading the size of etcd's data: %w", err)
	}
	dir := filepath.Dir(host.KubernetesTmpDir)
	free, err := l.FreeBytes(dir)
	if err != nil {
		return fmt.Errorf("reading the free space: %w", err)
	}
	if free < need {
		return host.Fail(v1alpha1.ReasonDiskFull,
			"kubeadm needs %d MiB in %s for its backups, where %d MiB are free", need>>20, dir, free>>20)
	}
	return nil
}

// ignoreMissing returns err, or nil if a file is missing: etcd removes files meanwhile.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
