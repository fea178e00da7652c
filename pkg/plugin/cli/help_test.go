package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
)

// maxHelp is how many columns a line of help may have.
const maxHelp = 78

// TestHelpIsNarrow checks that no line of any --help is longer than a terminal of 80 columns shows, and that
// each command of kubectl-upgrade is in a group.
func TestHelpIsNarrow(t *testing.T) {
	var out bytes.Buffer
	root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, "v0")
	count := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		count++
		out.Reset()
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil || out.Len() == 0 {
			t.Errorf("%s: there is no help: %v", cmd.CommandPath(), err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > maxHelp {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range cmd.Commands() {
			if cmd == root && sub.GroupID == "" && sub.Name() != "help" {
				t.Errorf("%s is in no group", sub.Name())
			}
			check(sub)
		}
	}
	check(root)
	if count < 30 {
		t.Errorf("only %d commands were found", count)
	}
}
