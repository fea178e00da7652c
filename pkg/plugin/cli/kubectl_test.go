package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runAlone runs the plugin as a process of its own: client-go's log is one for a process.
func runAlone(t *testing.T, args ...string) (out, errOut string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "kubectl-upgrade") // testscript.Main goes by the name
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), link, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	return stdout.String(), stderr.String()
}

// TestVerbosityShowsRequestsAndNoSecret checks kubectl's -v against a server that answers with 404.
func TestVerbosityShowsRequestsAndNoSecret(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	const secret = "hunter2"
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	address := strings.Replace(server.URL, "http://", "http://person:"+secret+"@", 1)
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: %s}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`, address, secret)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	request := regexp.MustCompile(`(?m)^I\d{4} [^]]*\] "(Request|Response)" verb="GET" url="http://127.0.0.1:\d+/apis/kubectl-upgrade.dev/v1alpha1/nodeupgrades[?]limit=1000"(.|\n)* status="404 Not Found" .*milliseconds=\d+$`)
	for level, shows := range map[string]bool{"-v=0": false, "-v5": false, "-v=6": true, "--v=7": true, "-v=10": true} {
		out, errOut := runAlone(t, "status", "--kubeconfig", kubeconfig, level)
		if out != "" || request.MatchString(errOut) != shows || strings.Contains(errOut, secret) {
			t.Errorf("%s: got %q and\n%s, want requests: %v, and no secret", level, out, errOut, shows)
		}
		if headers := strings.Contains(errOut, "Authorization: Basic <masked>"); headers != (level == "--v=7" || level == "-v=10") {
			t.Errorf("%s: are headers shown: %v\n%s", level, headers, errOut)
		}
	}
	for _, args := range []string{"status -v", "status -v=-1", "status -v=x"} {
		if _, errOut, code := offline(t, strings.Fields(args)...); code != 1 || !strings.HasPrefix(errOut, "error: ") || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s: got exit code %d and %q", args, code, errOut)
		}
	}
	if out, _, _ := offline(t, "--version"); out != "kubectl upgrade version test\n" {
		t.Errorf("--version prints %q", out)
	}
}

// TestMissingKubeconfigIsNamed checks that the error names the file and not localhost.
func TestMissingKubeconfigIsNamed(t *testing.T) {
	folder := t.TempDir()
	here, a, b := kubeconfigFor(t, "http://127.0.0.1:1"), filepath.Join(folder, "a"), filepath.Join(folder, "b")
	for _, test := range []struct{ variable, args, want string }{
		{a, "", "error: $KUBECONFIG names " + a + ", and there is no such file\n"},
		{a + ":" + b, "", "error: $KUBECONFIG names " + a + " and " + b + ", and there is no such file\n"},
		{a + "::", "", "error: $KUBECONFIG names " + a + ", and there is no such file\n"},
		{"::", "", "error: reading NodeUpgrades: there is no kubeconfig: "},
		{here, "--kubeconfig=" + b, "error: --kubeconfig names " + b + ", and there is no such file\n"},
		{a + ":" + here, "--context=nowhere", `error: context "nowhere" does not exist; $KUBECONFIG also names ` + a + ", and there is no such file\n"},
		{a + ":" + here, "", "error: reading NodeUpgrades: the API server does not answer"},
		{a, "--server=http://127.0.0.1:1", "error: reading NodeUpgrades: the API server does not answer"},
	} {
		t.Setenv("KUBECONFIG", test.variable)
		for _, verb := range []string{"version", "status"} {
			_, errOut, code := offline(t, append([]string{verb}, strings.Fields(test.args)...)...)
			if code != 1 || !strings.HasPrefix(errOut, strings.TrimSuffix(test.want, "\n")) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("KUBECONFIG=%s %s %s: got exit code %d and %q, want %q", test.variable, verb, test.args, code, errOut, test.want)
			}
		}
	}
	t.Setenv("KUBECONFIG", a)
	for _, verb := range []string{"plan", "doctor", "migrate kured", "apply v1.35"} {
		if _, errOut, _ := offline(t, strings.Fields(verb)...); !strings.Contains(errOut, a) {
			t.Errorf("%s: got %q, which does not name %s", verb, errOut, a)
		}
	}
}

// TestCompletionOfFlags checks what needs no cluster.
func TestCompletionOfFlags(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfigFor(t, "http://127.0.0.1:1"))
	if out, _, _ := offline(t, "__complete", "windows", "--time-zone", "Eur"); !strings.Contains(out, "\nEurope/Berlin\n") {
		t.Errorf("--time-zone: got %q", out)
	}
	for args, want := range map[string][]string{
		"status -o ":         {"wide", "json", "yaml", "name", "jsonpath=", "custom-columns=", "go-template="},
		"status -o cus":      {"custom-columns="},
		"windows -o ":        {"wide", "json", "yaml", "jsonpath=", "custom-columns=", "go-template="},
		"report -o ht":       {"html"},
		"freeze --dry-run=":  {"none", "client", "server"},
		"apply --dry-run=":   {"none", "client", "server"},
		"status --context ":  {"c"},
		"status --cluster ":  {"c"},
		"status --user ":     {},
		"status --color ":    {"auto", "always", "never"},
		"freeze --upgrades ": {"Patch", "Minor", "Reboot", "Rollback", "Certificates"},
	} {
		out, _, code := offline(t, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		got, directive := lines[:len(lines)-1], lines[len(lines)-1]
		if code != 0 || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%q: got exit code %d and %q, want %q", args, code, got, want)
		}
		if noSpace := directive == ":6"; noSpace != (args == "status -o cus") {
			t.Errorf("%q: got directive %s", args, directive)
		}
	}
}
