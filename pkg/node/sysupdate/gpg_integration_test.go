//go:build integration

package sysupdate_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// gpgKey creates a key for the tests inside: a node has gpg without its agent.
func gpgKey(dir, name string) error {
	home := filepath.Join(dir, "gpg-"+name)
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	defer func() {
		_ = exec.CommandContext(context.Background(), "gpgconf", "--homedir", home, "--kill", "all").Run()
	}()
	for _, args := range [][]string{
		{"--passphrase", "", "--quick-generate-key", name + " <" + name + "@example>", "ed25519", "sign", "1d"},
		{"--armor", "--output", filepath.Join(dir, "images", name+".public"), "--export"},
		{"--armor", "--output", filepath.Join(dir, "images", name+".private"), "--passphrase", "", "--export-secret-keys"},
	} {
		args = append([]string{"--homedir", home, "--batch", "--pinentry-mode", "loopback"}, args...)
		if out, err := exec.CommandContext(context.Background(), "gpg", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("gpg: %w: %s", err, out)
		}
	}
	return nil
}

// signer is one of gpg's keys.
type signer struct {
	public  string
	private openpgp.EntityList
}

func newSigner(t *testing.T, name string) signer {
	t.Helper()
	public, err := os.ReadFile("/images/" + name + ".public")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("/images/" + name + ".private")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	private, err := openpgp.ReadArmoredKeyRing(file)
	if err != nil {
		t.Fatal(err)
	}
	return signer{string(public), private}
}

func (s signer) sign(t *testing.T, text []byte) []byte {
	t.Helper()
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, s.private[0], bytes.NewReader(text), nil); err != nil {
		t.Error(err)
	}
	return signature.Bytes()
}
