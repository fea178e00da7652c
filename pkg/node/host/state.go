package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

func requestFile(root string, v verb.Verb) string {
	return filepath.Join(StateDir(root), string(v)+".request.json")
}

func resultFile(root string, v verb.Verb) string {
	return filepath.Join(StateDir(root), string(v)+".json")
}

func kubeadmDoneFile(root string) string { return filepath.Join(StateDir(root), "kubeadm-done.json") }

func ignoredRebootFile(root string) string { return filepath.Join(StateDir(root), "reboot-file.json") }

func guardFile(root string) string { return filepath.Join(StateDir(root), "guard.json") }

func rollbackFile(root string) string { return filepath.Join(StateDir(root), "rollback.json") }

// bootsFile counts the boots since the activation.
func bootsFile(root string) string { return filepath.Join(StateDir(root), "guard-boots.json") }

// armedFile exists while the guard is armed.
func armedFile(root string) string { return filepath.Join(StateDir(root), "guard-armed") }

// WriteFile replaces a file atomically and durably: after a power cut it has
// either the old content or the new one.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	return writeFrom(path, bytes.NewReader(data), mode)
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
