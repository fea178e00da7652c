package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Install atomically copies the running program to bin/node-agent below root,
// unless that file has the same content. Units need the copy because the
// container's own file is gone when the container ends. A unit that runs the former
// copy is not affected.
func Install(root string) error { return install("/proc/self/exe", root) }

func install(from, root string) error {
	to := Program(root)
	program, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("reading the running program: %w", err)
	}
	there, err := os.ReadFile(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the installed program: %w", err)
	}
	if err := os.MkdirAll(StateDir(root), 0o700); err != nil {
		return fmt.Errorf("making the folder for state: %w", err)
	}
	if err == nil && bytes.Equal(program, there) {
		return nil
	}
	if err := removePartial(to); err != nil {
		return fmt.Errorf("removing an interrupted copy of the program: %w", err)
	}
	if err := WriteFile(to, program, 0o755); err != nil {
		return fmt.Errorf("installing the program on the node: %w", err)
	}
	return nil
}

// removePartial removes temporary files of interrupted calls of WriteFile for path.
func removePartial(path string) error {
	partial, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"*"))
	if err != nil {
		return err
	}
	for _, p := range partial {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return nil
}
