package cli_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

var (
	// pluginCommand matches a command of the plugin in a page, up to its comment or to the
	// end of the command in a shell. Between backquotes it may be only the command's name.
	pluginCommand = regexp.MustCompile("(?m)(^ *(?:\\$ )?|`)kubectl upgrade ((?:\"[^\"\n]*\"|'[^'\n]*'|\\\\\\||[^`\n#|>;&\"'])+)")
	// word matches a word of a shell command.
	word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
)

// TestPagesCommands checks that the plugin has each command that a page shows, with its flags
// and arguments.
func TestPagesCommands(t *testing.T) {
	root := apitest.Root(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pluginCommand.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(match[2], "…") || strings.HasPrefix(match[2], "◀") { // a diagram
				continue
			}
			commands++
			if err := understood(match[2], match[1] != "`"); err != nil {
				t.Errorf("%s: kubectl upgrade %s: %v", filepath.Base(page), match[2], err)
			}
		}
	}
	if commands < 120 {
		t.Errorf("found only %d commands", commands)
	}
}

// TestEveryCommandHasARow checks that docs/commands.md has a row for each command.
func TestEveryCommandHasARow(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(apitest.Root(t), "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	root := cli.New(genericiooptions.NewTestIOStreamsDiscard(), "test")
	for _, command := range root.Commands() {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + command.Name() + "[ `]")
		if !command.Hidden && command.IsAvailableCommand() && !row.Match(page) {
			t.Errorf("docs/commands.md has no row for %s", command.Name())
		}
	}
}

// understood returns an error unless the plugin has the command with these flags and, if it
// is complete, as many arguments.
func understood(line string, complete bool) error {
	root := cli.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}, "test")
	root.InitDefaultVersionFlag()
	command, args, err := root.Find(word.FindAllString(line, -1))
	if err != nil {
		return err
	}
	if err := command.ParseFlags(args); err != nil || !complete && command != root {
		return err
	}
	if command == root && command.Flags().NArg() > 0 {
		return errors.New("there is no such command")
	}
	return command.ValidateArgs(command.Flags().Args())
}

// pageFile matches a block of a page that is a file: its first line is a comment with the name.
var pageFile = regexp.MustCompile("(?ms)^```(?:sh|yaml)\n# ([a-z0-9./-]+)\n(.*?)^```$")

// writePageFiles writes the files that a page shows to dir, so that the script with the name of
// the page can run them. A script without a page gets none.
func writePageFiles(page, dir string) error {
	text, err := os.ReadFile(page)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, match := range pageFile.FindAllSubmatch(text, -1) {
		path := filepath.Join(dir, filepath.FromSlash(string(match[1])))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, match[2], 0o600); err != nil {
			return err
		}
	}
	return nil
}
