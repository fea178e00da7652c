package program

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// Ready is the file that exists while a program is ready. The kubelet's probe runs the program's command ready, which looks
// for it: no other program can answer in its place, as one that listens at the same port of the node could.
type Ready string

// NewReady returns the file in a folder of the pod, and removes that of a former container of the same pod.
func NewReady(dir string) (Ready, error) {
	r := Ready(filepath.Join(dir, "ready"))
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("removing the file of a former container: %w", err)
	}
	return r, nil
}

// Set makes the program ready.
func (r Ready) Set() error {
	if err := os.MkdirAll(filepath.Dir(string(r)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(string(r), nil, 0o600)
}

// Check returns an error unless the program is ready.
func (r Ready) Check() error {
	if _, err := os.Stat(string(r)); err != nil {
		return fmt.Errorf("it is not ready yet: %w", err)
	}
	return nil
}

// NewReadyCommand returns the command ready of a program that is called what.
func NewReadyCommand(dir, what string) *cobra.Command {
	return &cobra.Command{
		Use:   "ready",
		Short: "Check, for the kubelet's probe, that the " + what + " in this container is ready",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return Ready(filepath.Join(dir, "ready")).Check() },
	}
}
