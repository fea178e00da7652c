//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// withKeyring creates a key with gpg, and lets the policy trust it alone.
func withKeyring(f *faultRun) error {
	home, err := os.MkdirTemp("", "gnupg")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	gpg := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(f.ctx, "gpg", append([]string{"--homedir", home, "--batch", "--no-tty", "--passphrase", ""}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("gpg %v: %w", args, err)
		}
		return out, err
	}
	if _, err := gpg("--quick-generate-key", "lab@example.com", "ed25519", "sign", "never"); err != nil {
		return err
	}
	public, err := gpg("--armor", "--export", "lab@example.com")
	if err != nil {
		return err
	}
	return patchKeyring(f, string(public))
}

func withoutKeyring(f *faultRun) error { return patchKeyring(f, nil) }

func patchKeyring(f *faultRun, keyring any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"source": map[string]any{"keyring": keyring}}})
	if err != nil {
		return err
	}
	return kubectl("patch", "upgradepolicy", "cluster", "--type", "merge", "-p", string(patch))(f)
}
