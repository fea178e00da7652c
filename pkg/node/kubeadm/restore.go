package kubeadm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

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
