package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// pluginCompletion is what kubectl runs when <Tab> is pressed after
// `kubectl upgrade`: a program kubectl_complete-upgrade on the PATH.
const pluginCompletion = `#!/usr/bin/env sh
exec kubectl-upgrade __complete "$@"
`

func newCompletion(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion kubectl|bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `Prints a completion script. Use "kubectl" for the command kubectl upgrade: in every
shell where kubectl itself completes, kubectl runs the script if it is on the PATH as
a program named kubectl_complete-upgrade. The others are for calling the program
kubectl-upgrade directly.`,
		Example: `  kubectl upgrade completion kubectl > ~/.local/bin/kubectl_complete-upgrade
  chmod +x ~/.local/bin/kubectl_complete-upgrade`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"kubectl", "bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.Out, true)
			case "zsh":
				return root.GenZshCompletion(p.Out)
			case "fish":
				return root.GenFishCompletion(p.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.Out)
			}
			_, err := fmt.Fprint(p.Out, pluginCompletion)
			return err
		},
	}
}
