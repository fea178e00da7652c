// Package gpgtest makes real OpenPGP keys and signatures with gpg, for tests.
package gpgtest

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
)

// Key is a key with its own home of gpg.
type Key struct {
	// Public is the armored public key, as an UpgradePolicy has it.
	Public string
	home   string
}

// NewKey makes a key that signs.
func NewKey(t *testing.T, name string) *Key {
	t.Helper()
	k := &Key{home: t.TempDir()}
	k.gpg(t, nil, "--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", name+" <"+name+"@example>", "ed25519", "sign", "1d")
	k.Public = string(k.gpg(t, nil, "--armor", "--export"))
	t.Cleanup(func() {
		_ = exec.CommandContext(context.Background(), "gpgconf", "--homedir", k.home, "--kill", "all").Run() //nolint:gosec // a folder of the test
	})
	return k
}

// Sign returns a detached signature.
func (k *Key) Sign(t *testing.T, text []byte, options ...string) []byte {
	t.Helper()
	return k.gpg(t, text, append(options, "--detach-sign")...)
}

// Private returns the armored private key.
func (k *Key) Private(t *testing.T) string {
	t.Helper()
	return string(k.gpg(t, nil, "--armor", "--export-secret-keys"))
}

func (k *Key) gpg(t *testing.T, in []byte, args ...string) []byte {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "gpg", append([]string{"--homedir", k.home, "--batch"}, args...)...) //nolint:gosec // the test's own arguments
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gpg %v: %v\n%s", args, err, said.String())
	}
	return out
}
