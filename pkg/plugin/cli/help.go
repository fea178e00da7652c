package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpColumns is how many columns a line of help has at most.
const helpColumns = 78

// groups are the groups of the commands, in the order in which --help shows them.
var groups = []struct {
	group cobra.Group
	verbs []string
}{
	{cobra.Group{ID: "look", Title: "See what happens, and why:"}, []string{"status", "plan", "releases", "windows", "certificates", "history", "report", "doctor"}},
	{cobra.Group{ID: "act", Title: "Upgrade, reboot, take back:"}, []string{"apply", "reboot", "rollback"}},
	{cobra.Group{ID: "hold", Title: "Hold, and let go on:"}, []string{"suspend", "resume", "approve", "abandon", "freeze", "unfreeze", "block", "unblock"}},
	{cobra.Group{ID: "several", Title: "Several clusters:"}, []string{"fleet", "follow"}},
	{cobra.Group{ID: "other", Title: "Set-up and more:"}, []string{"migrate", "completion", "version", "help"}},
}

// arrangeHelp puts the commands into groups, and makes their help as narrow as a terminal.
func arrangeHelp(root *cobra.Command) {
	for i, one := range groups {
		root.AddGroup(&groups[i].group)
		for _, verb := range one.verbs {
			if cmd, _, err := root.Find([]string{verb}); err == nil && cmd != root {
				cmd.GroupID = one.group.ID
			}
		}
	}
	root.SetHelpCommandGroupID("other")
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpColumns),
		`Use "{{.CommandPath}} [command] --help" for more information about a command.`, `Use "{{.CommandPath}} [command] --help" for more about a command.`,
	).Replace(root.UsageTemplate()))
	narrow(root)
}

// narrow wraps the text of the command and of those below it.
func narrow(cmd *cobra.Command) {
	cmd.Long = wrap(cmd.Long)
	for _, sub := range cmd.Commands() {
		narrow(sub)
	}
}

// wrap fills each paragraph up to helpColumns. Lines that are indented stay as they are.
func wrap(text string) string {
	var lines []string
	open := false // whether the last line takes more words
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			lines, open = append(lines, line), false
			continue
		}
		for word := range strings.FieldsSeq(line) {
			last := len(lines) - 1
			if open && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= helpColumns {
				lines[last] += " " + word
				continue
			}
			lines, open = append(lines, word), true
		}
	}
	return strings.Join(lines, "\n")
}

// newHelp returns `kubectl upgrade help`, for people who type that instead of --help.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
			for _, cmd := range root.Commands() {
				if len(args) == 0 && cmd.IsAvailableCommand() && strings.HasPrefix(cmd.Name(), begun) {
					names = append(names, cobra.CompletionWithDesc(cmd.Name(), cmd.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag() // Execute adds it to the command that runs alone
			return found.Help()
		},
	}
}
