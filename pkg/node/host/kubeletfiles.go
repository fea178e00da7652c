package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// kubeletFiles are the files of the kubelet that kubeadm rewrites.
var kubeletFiles = []string{KubeletConfig, KubeletFlags}

// savedFiles describes the copies in savedDir.
type savedFiles struct {
	// From is the version that was merged when the copies were made.
	From string `json:"from"`
	// Kubeadm reports whether kubeadm has begun since. Digest is that of the files as
	// kubeadm left them; empty if it did not end.
	Kubeadm bool   `json:"kubeadm,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// SaveKubeletFiles saves the config.yaml and kubeadm-flags.env with which the version
// from runs: kubeadm rewrites both, and the older kubelet may not start with the new ones.
// Copies of an earlier attempt are kept while the present files are those that kubeadm
// wrote, in this upgrade or in one that it supersedes. Files that a person has changed
// since are saved again. It returns a map from the path of each file to the path of its
// copy.
func (l Layout) SaveKubeletFiles(from string) (map[string]string, error) {
	saved, err := readJSON[savedFiles](l.At(savedMeta))
	if err != nil {
		return nil, err
	}
	present, err := l.digestKubeletFiles()
	if err != nil {
		return nil, err
	}
	keep := saved != nil && saved.From == from && saved.Kubeadm && (saved.Digest == "" || saved.Digest == present)
	if !keep {
		if err := l.saveKubeletFiles(savedFiles{From: from}); err != nil {
			return nil, fmt.Errorf("saving the kubelet's configuration: %w", err)
		}
	}
	copies := map[string]string{}
	for _, file := range kubeletFiles {
		copied := filepath.Join(savedDir, filepath.Base(file))
		if _, err := os.Stat(l.At(copied)); err == nil {
			copies[file] = copied
		}
	}
	return copies, nil
}

// NoteKubeadm records that kubeadm is about to rewrite the kubelet's files, or with ended
// that it has.
func (l Layout) NoteKubeadm(ended bool) error {
	saved, err := readJSON[savedFiles](l.At(savedMeta))
	if err != nil || saved == nil {
		return err
	}
	saved.Kubeadm, saved.Digest = true, ""
	if ended {
		if saved.Digest, err = l.digestKubeletFiles(); err != nil {
			return err
		}
	}
	return writeJSON(l.At(savedMeta), saved)
}

// KeepKubeletFiles ends an upgrade: the copies are kept for a Rollback to their version, for as long
// as its image is on the disk.
func (l Layout) KeepKubeletFiles() error {
	saved, err := readJSON[savedFiles](l.At(savedMeta))
	if err != nil {
		return err
	}
	if saved == nil {
		return l.pruneFormer()
	}
	kept := l.At(formerDir, saved.From)
	err = errors.Join(os.MkdirAll(filepath.Dir(kept), 0o700), os.RemoveAll(kept), os.Rename(l.At(savedDir), kept))
	if err != nil {
		return fmt.Errorf("keeping the configuration of kubelet %s: %w", saved.From, err)
	}
	return errors.Join(SyncDir(filepath.Dir(kept)), SyncDir(filepath.Dir(l.At(savedDir))), l.pruneFormer())
}

// pruneFormer removes the kept copies of versions whose image is gone.
func (l Layout) pruneFormer() error {
	entries, err := os.ReadDir(l.At(formerDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	installed, listErr := l.Installed()
	if err := errors.Join(err, listErr); err != nil {
		return fmt.Errorf("removing old configurations of the kubelet: %w", err)
	}
	var problems []error
	for _, e := range entries {
		if !slices.ContainsFunc(installed, func(i Image) bool { return i.Version() == e.Name() }) {
			problems = append(problems, os.RemoveAll(l.At(formerDir, e.Name())))
		}
	}
	return errors.Join(problems...)
}

// RestoreKubeletFiles gives the node the kubelet's files with which it ran a former version, if they
// were kept, and has kubeadm run again in the next upgrade: what it wrote is gone.
func (l Layout) RestoreKubeletFiles(version string) error {
	restored := false
	for _, file := range kubeletFiles {
		data, err := os.ReadFile(l.At(formerDir, version, filepath.Base(file)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = ReplaceContent(l.At(file), data)
		}
		if err != nil {
			return fmt.Errorf("restoring the kubelet's configuration of %s: %w", version, err)
		}
		restored = true
	}
	if !restored {
		return nil
	}
	return l.ForgetKubeadm()
}

// digestKubeletFiles returns a digest of the present files.
func (l Layout) digestKubeletFiles() (string, error) {
	sum := sha256.New()
	for _, file := range kubeletFiles {
		data, err := os.ReadFile(l.At(file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("reading the kubelet's configuration: %w", err)
		}
		fmt.Fprintf(sum, "%s %t %d\n", file, err == nil, len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// saveKubeletFiles copies the files into a temporary folder and renames it to savedDir,
// so that savedDir is complete or absent.
func (l Layout) saveKubeletFiles(meta savedFiles) error {
	dir := l.At(savedDir)
	part := dir + ".part"
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.RemoveAll(part)); err != nil {
		return err
	}
	for _, file := range kubeletFiles {
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
	if err := writeJSON(filepath.Join(part, filepath.Base(savedMeta)), meta); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(part, dir)); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(dir))
}
