package host

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func requestFile(root string, v verb.Verb) string {
	return filepath.Join(StateDir(root), string(v)+".request.json")
}

func resultFile(root string, v verb.Verb) string {
	return filepath.Join(StateDir(root), string(v)+".json")
}

func kubeadmDoneFile(root string) string { return filepath.Join(StateDir(root), "kubeadm-done.json") }

func certificatesRenewedFile(root string) string {
	return filepath.Join(StateDir(root), "certificates-renewed.json")
}

func ignoredRebootFile(root string) string { return filepath.Join(StateDir(root), "reboot-file.json") }

func guardFile(root string) string { return filepath.Join(StateDir(root), "guard.json") }

func rollbackFile(root string) string { return filepath.Join(StateDir(root), "rollback.json") }

// bootsFile counts the boots since the activation.
func bootsFile(root string) string { return filepath.Join(StateDir(root), "guard-boots.json") }

// triesFile has what the guard has tried in the activation.
func triesFile(root string) string { return filepath.Join(StateDir(root), "guard-tries.json") }

// armedFile exists while the guard is armed.
func armedFile(root string) string { return filepath.Join(StateDir(root), "guard-armed") }

// WriteFile replaces a file atomically and durably: after a power cut it has
// either the old content or the new one.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	return writeFrom(path, bytes.NewReader(data), mode)
}

// ReplaceContent is WriteFile for a file that may be there already: its mode stays, and a symlink to it.
func ReplaceContent(path string, data []byte) error {
	mode := os.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return WriteFile(path, data, mode)
}

// writeFrom is WriteFile for content that need not fit into memory.
func writeFrom(path string, from io.Reader, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(mode))
	if err != nil {
		return err
	}
	defer func() { _ = file.Cleanup() }()
	if _, err := io.Copy(file, from); err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir makes renames in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("syncing %s: %w", dir, err)
	}
	return nil
}

// CopyFile copies a file, atomically and durably.
func CopyFile(from, to string, mode os.FileMode) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return writeFrom(to, file, mode)
}

// overwrite replaces a file's content in place, durably. It needs no new disk space if the
// file was at least as long.
func overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Truncate(int64(len(data))), f.Sync(), f.Close())
}

func encodeJSON(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return append(data, '\n'), err
}

func writeJSON(path string, value any) error {
	data, err := encodeJSON(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", filepath.Base(path), err)
	}
	if err := WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// readJSON returns the value in a file, or nil without an error if there is no such
// file.
func readJSON[T any](path string) (*T, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", path, err)
	}
	return value, nil
}

// BootID returns the boot ID of the running system.
func (l Layout) BootID() (string, error) {
	data, err := os.ReadFile(l.At(bootIDFile))
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// KubeadmDone returns the record of the last `kubeadm upgrade` that succeeded, or
// nil if there is none.
func (l Layout) KubeadmDone() (*verb.KubeadmDone, error) {
	return readJSON[verb.KubeadmDone](kubeadmDoneFile(l.Root()))
}

// SetCertificatesRenewed records a renewal of certificates that has ended well.
func (l Layout) SetCertificatesRenewed(r v1alpha1.CertificatesRenewed) error {
	return writeJSON(certificatesRenewedFile(l.Root()), r)
}

// SetKubeadmDone records a `kubeadm upgrade` that succeeded.
func (l Layout) SetKubeadmDone(d verb.KubeadmDone) error {
	if info, err := os.Stat(l.At(KubeletAccess)); err == nil {
		d.AccessWritten = info.ModTime()
	}
	return writeJSON(kubeadmDoneFile(l.Root()), d)
}

// ForgetKubeadm removes the record of the last `kubeadm upgrade`.
func (l Layout) ForgetKubeadm() error { return remove(kubeadmDoneFile(l.Root())) }

// savedDir has the kubelet's files from before an upgrade, see SaveKubeletFiles, and
// savedMeta describes them.
var (
	savedDir  = filepath.Join(StateDir(Root), "saved")
	savedMeta = filepath.Join(savedDir, "saved.json")
)

// formerDir has such copies of former versions, each in a folder with the version's name.
var formerDir = filepath.Join(StateDir(Root), "former")

// reserveBytes is the space that a rollback needs at most on one file system: its
// record, definitions, and the kubelet's two files.
const reserveBytes = 1 << 20

// reserved are the folders in which a rollback writes. They may be on different file
// systems.
var reserved = []string{StateDir(Root), filepath.Dir(KubeletConfig), "/etc/kubernetes"}

const reserveName = ".kubectl-upgrade-reserve"

// reserve takes up disk space that ReleaseReserve frees, so that a rollback can write
// although the disk has become full. The content is random: a file system that
// compresses would not keep room for zeros.
func (l Layout) reserve() error {
	data := make([]byte, reserveBytes)
	_, _ = rand.Read(data)
	for _, dir := range reserved {
		if err := WriteFile(l.At(dir, reserveName), data, 0o600); err != nil {
			_ = l.ReleaseReserve()
			return Fail(v1alpha1.ReasonDiskFull, "reserving disk space in %s for a rollback: %w", dir, err)
		}
	}
	return nil
}

// ReleaseReserve frees the reserved disk space.
func (l Layout) ReleaseReserve() error {
	var problems []error
	for _, dir := range reserved {
		if err := remove(l.At(dir, reserveName)); err != nil {
			problems = append(problems, fmt.Errorf("freeing the reserved disk space in %s: %w", dir, err))
		}
	}
	return errors.Join(problems...)
}
