package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Since systemd 262 systemd-sysupdate records in databaseDir what it has installed, so that a
// later run with --cleanup=yes deletes what no definition covers any more. At its end it calls
// the sockets in notifyDir, one of which may refresh the node's system extensions.
const (
	databaseDir = "/var/lib/systemd"
	notifyDir   = "/run/systemd/sysupdate/notify"
)

// pullConfigDir and vendorDir are where systemd-pull reads the keys that may sign an index.
// Up to systemd 261 it uses the vendor's only if there are none in pullConfigDir; since 262
// it accepts those of both folders.
const (
	pullConfigDir = "/etc/systemd"
	vendorDir     = "/usr/lib/systemd"
)

// keyringNames are systemd's names for the keyring. Newer versions prefer the second, and
// since 262 use the first only if no folder has the second.
var keyringNames = []string{"import-pubring.gpg", "import-pubring.pgp"}

// sysupdate returns the command that runs systemd-sysupdate. It runs in its own mount
// namespace: nothing of the run is recorded in the node's database, and no socket of the node
// is called. If the source has a keyring, the command accepts only its keys, and no other
// program of the node accepts them.
func (s *staging) sysupdate(ctx context.Context, args ...string) (*exec.Cmd, error) {
	mounts, err := s.mounts()
	if err != nil {
		return nil, err
	}
	script := []string{"-c", `set -e; while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"`, "sh"}
	args = append(append(mounts, "--", s.layout.At(host.Sysupdate)), args...)
	cmd := exec.CommandContext(ctx, "sh", append(script, args...)...) //nolint:gosec // the arguments stand apart from the script
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return cmd, nil
}

// mounts returns pairs of paths: what is mounted, and over what.
func (s *staging) mounts() (pairs []string, err error) {
	state := host.StateDir(s.layout.Root())
	empty, keys := filepath.Join(state, "empty"), filepath.Join(state, "pull-config")
	if err := errors.Join(os.RemoveAll(empty), os.MkdirAll(empty, 0o700)); err != nil {
		return nil, fmt.Errorf("making an empty folder: %w", err)
	}
	over := func(source, target string) {
		if _, e := os.Stat(target); e == nil {
			pairs = append(pairs, source, target)
		} else if !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	over(empty, s.layout.At(databaseDir))
	over(empty, s.layout.At(notifyDir))
	if s.source.keyring == nil {
		return pairs, err
	}
	for _, name := range keyringNames {
		key := filepath.Join(keys, name)
		if err := host.WriteFile(key, s.source.keyring.Binary(), 0o644); err != nil {
			return nil, fmt.Errorf("writing the keyring: %w", err)
		}
		over(key, s.layout.At(vendorDir, name))
	}
	return append(pairs, keys, s.layout.At(pullConfigDir)), err
}
