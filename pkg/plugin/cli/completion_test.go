package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestCompletionThroughKubectl installs the plugin and its completion script as the
// help says, and lets a real kubectl run both.
func TestCompletionThroughKubectl(t *testing.T) {
	bin, kubectl := t.TempDir(), apitest.Path(t, "kubectl")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-X main.version=v1.2.3", "-o", bin, "./cmd/kubectl-upgrade")
	build.Dir = apitest.Root(t)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	streams, _, script, _ := genericiooptions.NewTestIOStreams()
	cmd := cli.New(streams, "test")
	cmd.SetArgs([]string{"completion", "kubectl"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "kubectl_complete-upgrade"), script.Bytes(), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for args, want := range map[string]string{
		"__complete upgrade stat":     "status\t",
		"__complete upgrade apply --": "--ignore-check\t",
		"upgrade version --client":    "plugin        v1.2.3 (",
		"upgrade --version":           "kubectl upgrade version v1.2.3\n",
	} {
		text, err := exec.CommandContext(t.Context(), kubectl, strings.Fields(args)...).CombinedOutput()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("kubectl %s: got %v\n%s, want %q", args, err, text, want)
		}
	}
}
