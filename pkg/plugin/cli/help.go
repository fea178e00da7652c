package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

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
