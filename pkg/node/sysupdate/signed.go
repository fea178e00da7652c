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
	"path/filepath"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// listed is the image that a signed index listed last. It is kept on the node, so that a
// staged image needs no source again.
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
	var last listed
	if json.Unmarshal(text, &last) == nil && last == s.listed() {
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
	text, err := json.Marshal(s.listed())
	if err != nil {
		return err
	}
	if err := host.WriteFile(s.listedFile(), text, 0o600); err != nil {
		return fmt.Errorf("recording which image was signed: %w", err)
	}
	return nil
}
