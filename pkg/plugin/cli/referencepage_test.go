package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

const referenceHead = `# Reference of the commands

What ` + "`--help`" + ` prints, for all commands. [commands.md](commands.md) explains them, with what they print. A test writes this page: ` + "`go test ./pkg/plugin/cli -run TestReferencePage -update`" + `.
`

// TestReferencePage checks that docs/reference.md has the help of every command.
func TestReferencePage(t *testing.T) {
	t.Setenv("HOME", "/root") // no default may depend on it
	root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test")
	var page strings.Builder
	page.WriteString(referenceHead)
	for _, cmd := range root.Commands() {
		describe(&page, cmd)
	}
	page.WriteString("\n## Flags of all commands\n\nAlso kubectl's own, which `kubectl options` lists.\n\n```\n" + root.PersistentFlags().FlagUsagesWrapped(100) + "```\n")

	file := filepath.Join(apitest.Root(t), "docs", "reference.md")
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page.String(), string(got)); diff != "" {
		t.Errorf("docs/reference.md is stale; -update writes it (-want +got):\n%s", diff)
	}
}

// describe writes the help of a command and of those below it.
func describe(page *strings.Builder, cmd *cobra.Command) {
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	fmt.Fprintf(page, "\n## %s\n\n%s\n\nUsage: `%s`\n", cmd.CommandPath(), paragraphs(long), strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	if cmd.Example != "" {
		fmt.Fprintf(page, "\nExamples:\n\n```console\n%s\n```\n", asTyped(cmd.Example))
	}
	if flags := cmd.LocalNonPersistentFlags().FlagUsagesWrapped(100); flags != "" {
		fmt.Fprintf(page, "\nFlags:\n\n```\n%s```\n", flags)
	}
	for _, below := range cmd.Commands() {
		describe(page, below)
	}
}

// paragraphs returns a help text as Markdown: a line for each paragraph, and columns as a block.
func paragraphs(text string) string {
	all := strings.Split(text, "\n\n")
	for i, paragraph := range all {
		switch {
		case strings.HasPrefix(paragraph, "  - "):
		case strings.HasPrefix(paragraph, "  "):
			all[i] = "```\n" + paragraph + "\n```"
		default:
			all[i] = strings.Join(strings.Fields(paragraph), " ")
		}
	}
	return strings.Join(all, "\n\n")
}

// asTyped returns the lines of an example after a prompt.
func asTyped(example string) string {
	lines := strings.Split(strings.Trim(example, "\n"), "\n")
	for i, line := range lines {
		lines[i] = "$ " + strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
