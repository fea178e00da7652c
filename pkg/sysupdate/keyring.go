package sysupdate

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// pullConfigDir is where systemd-pull looks for the keys that may sign an index; its
// vendor's keys, in /usr/lib/systemd, count only where there are none.
const pullConfigDir = "/etc/systemd"

// keyringNames are what systemd calls the keyring: newer versions look for the second
// name first.
var keyringNames = []string{"import-pubring.gpg", "import-pubring.pgp"}

// sysupdate returns the command that runs systemd-sysupdate. Where a keyring is given,
// that one alone counts, and for this command alone: in a mount namespace of its own
// a folder with that keyring, and nothing else, is mounted over /etc/systemd. So no
// other program of the node trusts these keys.
func (s *staging) sysupdate(ctx context.Context, args ...string) (*exec.Cmd, error) {
	program := append([]string{s.layout.At(host.Sysupdate)}, args...)
	if s.source.keyring == nil {
		return exec.CommandContext(ctx, program[0], program[1:]...), nil //nolint:gosec // a folder of ours and a number
	}
	dir, err := s.writeKeyring()
	if err != nil {
		return nil, err
	}
	script := []string{"-c", `mount --bind "$0" "$1" && shift && exec "$@"`, dir, s.layout.At(pullConfigDir)}
	cmd := exec.CommandContext(ctx, "sh", append(script, program...)...) //nolint:gosec // the arguments stand apart from the script
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd, nil
}

// writeKeyring writes the folder that stands in for /etc/systemd.
func (s *staging) writeKeyring() (dir string, err error) {
	dir = filepath.Join(host.StateDir(s.layout.Root()), "pull-config")
	for _, name := range keyringNames {
		if err := host.WriteFile(filepath.Join(dir, name), s.source.keyring.Binary(), 0o644); err != nil {
			return "", fmt.Errorf("writing the keyring: %w", err)
		}
	}
	return dir, nil
}
