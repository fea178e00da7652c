package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/internal/apitest"
)

// pluginCommand matches a command of the plugin in a page, up to its comment.
var pluginCommand = regexp.MustCompile("(?m)(?:^\\$ |`)kubectl upgrade ([^`\n#]+)")

// TestPagesCommands checks that the plugin has each command that the README,
// docs/install.md and docs/report.md show, with its flags and arguments.
func TestPagesCommands(t *testing.T) {
	commands := 0
	for _, page := range []string{"README.md", "docs/install.md", "docs/report.md"} {
		text, err := os.ReadFile(filepath.Join(apitest.Root(t), page))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pluginCommand.FindAllStringSubmatch(string(text), -1) {
			commands++
			root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test")
			command, args, err := root.Find(strings.Fields(match[1]))
			if err == nil {
				err = command.ParseFlags(args)
			}
			if err == nil {
				err = command.ValidateArgs(command.Flags().Args())
			}
			if err != nil || command == root {
				t.Errorf("%s: kubectl upgrade %s: %v", page, match[1], err)
			}
		}
	}
	if commands < 8 {
		t.Errorf("found only %d commands", commands)
	}
}
