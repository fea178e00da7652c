package sysupdate

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// pullConfigDir is where systemd-pull reads the keys that may sign an index. It uses
// the vendor's keys in /usr/lib/systemd only if there are none here.
const pullConfigDir = "/etc/systemd"

// keyringNames are systemd's names for the keyring. Newer versions prefer the second.
var keyringNames = []string{"import-pubring.gpg", "import-pubring.pgp"}

// sysupdate returns the command that runs systemd-sysupdate. If the source has a
// keyring, the command accepts only its keys, and no other program of the node
// accepts them: the command runs in its own mount namespace, where a folder with
// nothing but the keyring is mounted over /etc/systemd.
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

// writeKeyring writes the folder that is mounted over /etc/systemd.
func (s *staging) writeKeyring() (dir string, err error) {
	dir = filepath.Join(host.StateDir(s.layout.Root()), "pull-config")
	for _, name := range keyringNames {
		if err := host.WriteFile(filepath.Join(dir, name), s.source.keyring.Binary(), 0o644); err != nil {
			return "", fmt.Errorf("writing the keyring: %w", err)
		}
	}
	return dir, nil
}
