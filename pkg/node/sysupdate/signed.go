package sysupdate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// listed is an image that a signed index has listed. The last few are kept on the node, so that an
// image on its disk needs no source again.
type listed struct {
	// SHA256 of the image.
	SHA256 string `json:"sha256"`
	// Keyring is the SHA-256 of the keys, one of which signed the index.
	Keyring string `json:"keyring"`
}

func (s *staging) listed() listed {
	keys := sha256.Sum256(s.source.keyring.Binary())
	return listed{SHA256: s.args.SHA256, Keyring: hex.EncodeToString(keys[:])}
}

// maxListed is how many of them are kept: more than there are images of two minors.
const maxListed = 8

// allListed returns what the file says; nothing if it cannot be understood.
func (*staging) allListed(text []byte) (all []listed) {
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

func (s *staging) listedFile() string {
	return filepath.Join(host.StateDir(s.layout.Root()), "signed.json")
}

// checkSigned returns an error if the source has a keyring, the image is on the disk already,
// and no index that a key of the keyring signed has listed it with its digest. It may have
// come from another run of systemd-sysupdate, or have been staged before there was a keyring.
func (s *staging) checkSigned(ctx context.Context) error {
	_, err := os.Lstat(s.path())
	if s.source.keyring == nil || errors.Is(err, fs.ErrNotExist) {
		return nil // a download asks
	}
	text, err := os.ReadFile(s.listedFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading which image was signed: %w", err)
	}
	if slices.Contains(s.allListed(text), s.listed()) {
		return nil
	}
	if err := s.source.check(ctx, s.args.SHA256); err != nil {
		return fmt.Errorf("%s is on the disk, and does not count until it is known that it was signed: %w", s.image.Name(), err)
	}
	return s.noteSigned()
}

// noteSigned records that a signed index has listed the image.
func (s *staging) noteSigned() error {
	if s.source.keyring == nil {
		return nil
	}
	text, err := os.ReadFile(s.listedFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading which images were signed: %w", err)
	}
	all := append(slices.DeleteFunc(s.allListed(text), func(l listed) bool { return l == s.listed() }), s.listed())
	if text, err = json.Marshal(all[max(0, len(all)-maxListed):]); err != nil {
		return err
	}
	if err := host.WriteFile(s.listedFile(), text, 0o600); err != nil {
		return fmt.Errorf("recording which image was signed: %w", err)
	}
	return nil
}

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
