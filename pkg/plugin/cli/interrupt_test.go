//go:build unix

package cli_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptEndsEveryVerb checks Ctrl-C for every verb that waits: for a server that never
// answers, and for a pipe without a writer or a reader.
func TestInterruptEndsEveryVerb(t *testing.T) {
	pipe, unread, report := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "report.html")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), syscall.Mkfifo(unread, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfigFor(t, silentServer(t)))
	commands := append(clusterCommands(),
		"fleet status --contexts c", "status -w", "apply v1.34.5 --yes", "rollback --all --reason x --yes", "reboot w-1 --force --reason x --yes", "certificates renew --reason x --yes", "report u --follow --output-file "+report, "migrate kured --apply --yes", "suspend", "resume", "approve", "report",
		"windows -f "+pipe, "plan -f "+pipe, "plan --snapshot "+pipe, "migrate kured -f "+pipe,
		"report v1.35.4 -o markdown --output-file "+unread+" --snapshot "+savedSnapshot,
	)
	verbs := map[string]bool{"help": true, "completion": true}
	for _, command := range commands {
		verbs[strings.Fields(command)[0]] = true
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(200*time.Millisecond, interrupt)
		began := time.Now()
		_, errOut, code := runIn(ctx, strings.Fields(command)...)
		if took := time.Since(began); code != 130 || strings.Contains(errOut, "error: ") || strings.Count(errOut, "\n") > 1 || took > 10*time.Second {
			t.Errorf("%s: got exit code %d and %q after %s", command, code, errOut, took)
		}
	}
	for cmd, words := range allCommands() {
		if len(words) == 1 && !verbs[words[0]] {
			t.Errorf("%s is not tried", cmd.CommandPath())
		}
	}
}
