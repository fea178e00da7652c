package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// silentServer returns the address of a server that accepts connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestTimeoutCoversTheWholeVerb checks each verb with a --timeout against a server that never
// answers, and where a program for credentials hangs.
func TestTimeoutCoversTheWholeVerb(t *testing.T) {
	silent, refused := kubeconfigFor(t, silentServer(t)), kubeconfigFor(t, "http://127.0.0.1:1")
	stuck := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c, user: u}}],
 users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ["10"], interactiveMode: Never}}}]}`
	if err := os.WriteFile(stuck, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.html")
	verbs := 0
	for cmd, words := range allCommands() {
		if cmd.Flags().Lookup("timeout") != nil && words[0] != "fleet" { // TestTimeoutOfFleet
			verbs++
		}
	}
	commands := []string{"status -w", "apply v1.34.5 --yes", "rollback w-1 --reason x --yes", "reboot w-1 --force --reason x --yes", "certificates renew --reason x --yes", "report u --follow --output-file " + report, "migrate kured --apply --yes", "migrate fluo"}
	if verbs != len(commands) {
		t.Errorf("%d verbs have a --timeout, and %d are tested", verbs, len(commands))
	}
	for _, command := range commands {
		for kubeconfig, want := range map[string]string{
			silent: "the API server does not answer; try `kubectl cluster-info`\n",
			stuck:  "the command does not end by itself, as something that it waits for cannot be interrupted\n",
		} {
			began := time.Now()
			_, errOut, code := offline(t, append(strings.Fields(command), "--timeout", "500ms", "--kubeconfig", kubeconfig)...)
			if took := time.Since(began); took > 8*time.Second {
				t.Errorf("%s: it took %s", command, took)
			}
			if code != 4 || !strings.HasPrefix(errOut, "error: waiting timed out after 500ms; ") || !strings.HasSuffix(errOut, want) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("%s: got exit code %d and %q, want 4 and %q", command, code, errOut, want)
			}
		}
		// Days are understood everywhere, also in kubectl's own flag.
		if _, errOut, code := offline(t, append(strings.Fields(command), "--request-timeout", "1d", "--kubeconfig", refused)...); code != 1 || strings.Contains(errOut, "timeout") {
			t.Errorf("%s --request-timeout 1d: got exit code %d and %q", command, code, errOut)
		}
		if _, errOut, code := offline(t, append(strings.Fields(command), "--timeout", "1d", "--kubeconfig", "/no/such/file")...); code != 1 || errOut != "error: --kubeconfig names /no/such/file, and there is no such file\n" {
			t.Errorf("%s --timeout 1d: got exit code %d and %q", command, code, errOut)
		}
	}
}

// TestTimeoutOfFleet checks that following clusters that never answer ends in time, by rows.
func TestTimeoutOfFleet(t *testing.T) {
	silent := kubeconfigFor(t, silentServer(t))
	for _, command := range []string{"fleet status --watch --contexts c", "fleet apply v1.34.5 --yes --contexts c"} {
		began := time.Now()
		_, errOut, code := offline(t, append(strings.Fields(command), "--timeout", "500ms", "--cluster-timeout", "300ms", "--kubeconfig", silent)...)
		if took := time.Since(began); took > 8*time.Second || code == 0 || strings.Count(errOut, "error: ") != 1 {
			t.Errorf("%s: got exit code %d and %q after %s", command, code, errOut, took)
		}
	}
}
