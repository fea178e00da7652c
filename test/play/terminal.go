package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// terminal is the file that another terminal reads: it says where the clusters are, and puts the programs on its PATH.
func (w *world) terminal() string { return filepath.Join(w.folder, "env") }

// writeTerminal writes that file, and beside it the program with which kubectl completes `kubectl upgrade`.
func (w *world) writeTerminal(ctx context.Context) error {
	completion, err := exec.CommandContext(ctx, filepath.Join(w.bin, "kubectl-upgrade"), "completion", "kubectl").Output() //nolint:gosec // our own program
	if err != nil {
		return fmt.Errorf("asking kubectl-upgrade how kubectl completes it: %w", err)
	}
	if err := os.WriteFile(filepath.Join(w.folder, "kubectl_complete-upgrade"), completion, 0o700); err != nil { //nolint:gosec // kubectl runs it
		return err
	}
	path := []string{w.bin, w.folder}
	if kubectl, err := w.servers.path("kubectl"); err == nil {
		path = append(path, filepath.Dir(kubectl))
	}
	exports := fmt.Sprintf("export KUBECONFIG=%s KUBECTL_UPGRADE_FLEET=%s PLAY=%s PATH=%s:\"$PATH\"\n",
		quote(w.kubeconfig()), quote(w.fleet()), w.images.address, quote(strings.Join(path, ":")))
	return os.WriteFile(w.terminal(), []byte(exports), 0o600)
}

// quote quotes a word for a shell, if it needs that.
func quote(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@+"
