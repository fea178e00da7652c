package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// ignoring matches the option with its ids.
var ignoring = regexp.MustCompile(`--ignore-check[ =]([a-z][a-z0-9,-]*)`)

// TestIgnoredChecksOfExamplesExist checks that the checks which examples and pages ignore
// exist.
func TestIgnoredChecksOfExamplesExist(t *testing.T) {
	texts := map[string]string{}
	collectExamples(cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test"), texts)
	root := apitest.Root(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, ".goreleaser.yaml")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[page] = string(text)
	}
	found := 0
	for where, text := range texts {
		for _, m := range ignoring.FindAllStringSubmatch(text, -1) {
			for _, id := range strings.Split(m[1], ",") {
				if found++; !preflight.Known(id) {
					t.Errorf("%s: there is no check %q", where, id)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no example ignores a check: the pattern may no longer match")
	}
}

func collectExamples(cmd *cobra.Command, texts map[string]string) {
	texts["the examples of "+cmd.CommandPath()] = cmd.Example
	for _, sub := range cmd.Commands() {
		collectExamples(sub, texts)
	}
}

// TestUnknownIgnoredCheckIsRefused checks that an unknown id is refused before the cluster
// is read.
func TestUnknownIgnoredCheckIsRefused(t *testing.T) {
	for id, want := range map[string]string{
		"deprecated-api":      "--ignore-check=deprecated-api: there is no such check; did you mean api-removed or cluster-api? docs/checks.md lists them all",
		"kubelet-flags":       "--ignore-check=kubelet-flags: there is no such check; did you mean kubelet-flag or version-kubelet-skew or kubelet-serving-waits? docs/checks.md lists them all",
		"certificates-ending": "--ignore-check=certificates-ending: there is no such check; did you mean certificate-ending or certificate-ended or certificate-not-loaded? docs/checks.md lists them all",
		"kurde":               "--ignore-check=kurde: there is no such check; docs/checks.md lists them all",
		"kured,all":           "--ignore-check=all: there is no such check; docs/checks.md lists them all",
	} {
		cmd := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test")
		cmd.SetArgs([]string{"apply", "v1.35", "--ignore-check", id, "--kubeconfig", filepath.Join(t.TempDir(), "none")})
		if err := cmd.ExecuteContext(t.Context()); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", id, err, want)
		}
	}
}
