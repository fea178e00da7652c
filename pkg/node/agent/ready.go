package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

const (
	// readyDir has the file that exists while the agent is ready. The agent listens on no
	// port that a probe could ask.
	readyDir = "/run/node-agent"
	// readyWithin is by when an agent that cannot report is ready.
	readyWithin = time.Minute
)

// readiness is the file that `agent ready` looks for.
type readiness string

// newReadiness removes the file of a former container of the same pod.
func newReadiness(dir string) (readiness, error) {
	r := readiness(filepath.Join(dir, "ready"))
	if err := os.Remove(string(r)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("removing the file of a former agent: %w", err)
	}
	return r, nil
}

func (r readiness) set() error {
	if err := os.MkdirAll(filepath.Dir(string(r)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(string(r), nil, 0o600)
}

func (r readiness) check() error {
	if _, err := os.Stat(string(r)); err != nil {
		return fmt.Errorf("the agent has not reported its node's facts yet: %w", err)
	}
	return nil
}

func newReadyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ready",
		Short: "Check, for the kubelet's probe, that the agent in this container has reported its node",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return readiness(filepath.Join(readyDir, "ready")).check()
		},
	}
}
