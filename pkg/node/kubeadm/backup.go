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

// components are the static pods whose manifests kubeadm replaces.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// CleanUp restores the manifests that a killed kubeadm had moved away. The verb's unit
// calls it when all its processes have ended: a control plane without one of its
// components may not be able to request the next run.
func CleanUp(l host.Layout, log *host.Log) error {
	if err := restoreManifests(l, log); err != nil {
		return err
	}
	return l.DisableUnarmedGuard()
}

// restoreManifests restores manifests that a killed kubeadm left missing: kubeadm moves
// a manifest away before it moves the new one in. It restores only what is in the
// backup of the interrupted run, so a manifest that a person removed stays removed.
func restoreManifests(l host.Layout, log *host.Log) error {
	mark, err := os.Stat(startedFile(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking for an interrupted kubeadm: %w", err)
	}
	backups, err := byAge(l, "kubeadm-backup-manifests-*")
	if err != nil {
		return err
	}
	for _, backup := range backups {
		info, err := os.Stat(backup)
		if err != nil {
			return fmt.Errorf("reading a backup of manifests: %w", err)
		}
		if info.ModTime().Before(mark.ModTime()) {
			break
		}
		if err := restoreFrom(l, backup, log); err != nil {
			return err
		}
	}
	return nil
}

func restoreFrom(l host.Layout, backup string, log *host.Log) error {
	for _, component := range components {
		manifest := l.At(host.ManifestsDir, component+".yaml")
		if _, err := os.Stat(manifest); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(backup, component+".yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the backup of a manifest: %w", err)
		}
		if err := putManifest(manifest, data); err != nil {
			return fmt.Errorf("putting back the manifest of %s: %w", component, err)
		}
		log.Printf("an interrupted kubeadm left no manifest of %s; it was put back from %s", component, backup)
	}
	return nil
}

// startedFile returns the path of a file that exists while kubeadm runs and after it
// was killed.
func startedFile(l host.Layout) string {
	return filepath.Join(host.StateDir(l.Root()), "kubeadm-started")
}

// putManifest writes the file outside the folder that the kubelet watches, and renames it
// into that folder.
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
