package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// kubeletStartFile is written whenever the kubelet's unit starts it: the bakery's
// 10-kubeadm.conf copies the image's kubernetes-version there.
const kubeletStartFile = "/etc/kubernetes-version"

// kubeletSteady is how long the kubelet must have run with its files before they count
// as files that it works with.
const kubeletSteady = time.Minute

// SaveKubeletFiles saves the config.yaml and kubeadm-flags.env that the running kubelet
// works with: kubeadm rewrites both, and the older kubelet may not start with the new
// ones. It is called before kubeadm runs and before an activation. Files that were
// saved before are kept if the present ones were changed since the kubelet started: an
// earlier attempt may have changed them, of this upgrade or of one that it supersedes.
// SaveKubeletFiles returns a map from the path of each file to the path of its copy.
func (l Layout) SaveKubeletFiles() (map[string]string, error) {
	saved := l.savedFiles()
	if len(saved) > 0 && !l.kubeletWorksWithFiles(time.Now()) {
		return saved, nil
	}
	if err := l.save(); err != nil {
		return nil, fmt.Errorf("saving the kubelet's configuration: %w", err)
	}
	return l.savedFiles(), nil
}

// savedFiles maps the path of each saved file to the path of its copy.
func (l Layout) savedFiles() map[string]string {
	saved := map[string]string{}
	for _, file := range []string{KubeletConfig, KubeletFlags} {
		copied := filepath.Join(savedDir, filepath.Base(file))
		if _, err := os.Stat(l.At(copied)); err == nil {
			saved[file] = copied
		}
	}
	return saved
}

// kubeletWorksWithFiles reports whether the kubelet has started after its files were
// changed last, and has kept running. It returns false if that is not known.
func (l Layout) kubeletWorksWithFiles(now time.Time) bool {
	start, err := os.Stat(l.At(kubeletStartFile))
	if err != nil || now.Sub(start.ModTime()) < kubeletSteady {
		return false
	}
	for _, file := range []string{KubeletConfig, KubeletFlags} {
		info, err := os.Stat(l.At(file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || info.ModTime().After(start.ModTime()) {
			return false
		}
	}
	return true
}

// save copies the files into a temporary folder and renames it to savedDir, so that
// savedDir is complete or absent.
func (l Layout) save() error {
	dir := l.At(savedDir)
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
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
	if _, err := os.Stat(part); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(part, dir)); err != nil {
		return err
	}
	return SyncDir(parent)
}
