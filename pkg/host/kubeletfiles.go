package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SaveKubeletFiles copies the kubelet's config.yaml and kubeadm-flags.env before
// the upgrade to a version: kubeadm rewrites both, and the older kubelet may not
// start with the new ones. Only the first call for a version copies them, so that
// a second attempt does not save what the first one wrote. Copies for other
// versions are removed. It returns a map from the path of each file to the path of
// its copy.
func (l Layout) SaveKubeletFiles(version string) (map[string]string, error) {
	dir := savedDir(version)
	if _, err := os.Stat(l.At(dir)); errors.Is(err, fs.ErrNotExist) {
		if err := l.save(dir); err != nil {
			return nil, fmt.Errorf("saving the kubelet's configuration: %w", err)
		}
	}
	if err := l.removeOtherSaved(version); err != nil {
		return nil, err
	}
	saved := map[string]string{}
	for _, file := range []string{KubeletConfig, KubeletFlags} {
		copied := filepath.Join(dir, filepath.Base(file))
		if _, err := os.Stat(l.At(copied)); err == nil {
			saved[file] = copied
		}
	}
	return saved, nil
}

// save copies the files into a temporary folder and renames it to dir, so that dir
// is complete or absent.
func (l Layout) save(dir string) error {
	parent := filepath.Dir(l.At(dir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	part, err := os.MkdirTemp(parent, ".part-")
	if err != nil {
		return err
	}
	for _, file := range []string{KubeletConfig, KubeletFlags} {
		data, err := os.ReadFile(l.At(file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := WriteFile(filepath.Join(part, filepath.Base(file)), data, 0o600); err != nil {
			return err
		}
	}
	if err := os.Rename(part, l.At(dir)); err != nil {
		return err
	}
	return SyncDir(parent)
}

func (l Layout) removeOtherSaved(version string) error {
	parent := filepath.Dir(l.At(savedDir(version)))
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("listing saved configurations: %w", err)
	}
	for _, e := range entries {
		if e.Name() == version {
			continue
		}
		if err := os.RemoveAll(filepath.Join(parent, e.Name())); err != nil {
			return fmt.Errorf("removing an old saved configuration: %w", err)
		}
	}
	return nil
}
