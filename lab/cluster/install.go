package cluster

import (
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// copyProgram replaces the target in one step: a process that runs from it
// keeps the file that it has.
func copyProgram(source, target string) error {
	if source == target {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := renameio.NewPendingFile(target, renameio.WithPermissions(0o755))
	if err != nil {
		return err
	}
	defer func() { _ = out.Cleanup() }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.CloseAtomicallyReplace()
}
