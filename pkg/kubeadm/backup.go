package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// backupsKept is how many of each kind stay in /etc/kubernetes/tmp.
const backupsKept = 5

// backupKinds are the folders that a kubeadm upgrade leaves behind for good
// (kubeadm 1.34, phases/upgrade/staticpods.go and postupgrade.go).
var backupKinds = []string{
	"kubeadm-backup-manifests-*", "kubeadm-backup-etcd-*", "kubeadm-upgraded-manifests*", "kubeadm-kubelet-config*",
}

// components are those whose manifests kubeadm moves.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// restoreManifests heals what a killed kubeadm may leave: it moves a manifest
// away and then the new one in, and between the two there is none. Where a
// control-plane node misses one that the newest backup has, that one is put
// back; the run that follows does the rest.
func restoreManifests(l host.Layout, log *host.Log) error {
	backups, err := byAge(l, "kubeadm-backup-manifests-*")
	if err != nil || len(backups) == 0 {
		return err
	}
	for _, component := range components {
		manifest := l.At(host.ManifestsDir, component+".yaml")
		if _, err := os.Stat(manifest); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(backups[0], component+".yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the backup of a manifest: %w", err)
		}
		if err := putManifest(manifest, data); err != nil {
			return fmt.Errorf("putting back the manifest of %s: %w", component, err)
		}
		fmt.Fprintf(log, "an interrupted kubeadm left no manifest of %s; it was put back from %s\n", component, backups[0])
	}
	return nil
}

// putManifest makes the file outside the folder that the kubelet watches, and
// renames it into it.
func putManifest(manifest string, data []byte) error {
	outside := filepath.Join(filepath.Dir(filepath.Dir(manifest)), "tmp", ".put-back-"+filepath.Base(manifest))
	if err := host.WriteFile(outside, data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(outside, manifest); err != nil {
		return err
	}
	return host.SyncDir(filepath.Dir(manifest))
}

// byAge lists folders in /etc/kubernetes/tmp, the newest first.
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

// pruneBackups keeps the newest few of each kind: every run copies etcd's data.
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

// room is what manifests, logs and certificates take, generously.
const room = 64 << 20

// checkRoom makes sure that kubeadm's copy of etcd's data fits: kubeadm takes
// it before it looks at whether etcd changes at all.
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
		return fmt.Errorf("looking how large etcd's data is: %w", err)
	}
	dir := filepath.Dir(host.KubernetesTmpDir)
	free, err := l.FreeBytes(dir)
	if err != nil {
		return fmt.Errorf("looking for free space: %w", err)
	}
	if free < need {
		return host.Fail(v1alpha1.ReasonDiskFull,
			"kubeadm needs %d MiB in %s for its backups, where %d MiB are free", need>>20, dir, free>>20)
	}
	return nil
}

// ignoreMissing: etcd removes files while we look.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
