package cli

import (
	"embed"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// pluginCompletions has what kubectl runs when <Tab> is pressed after `kubectl
// upgrade`, a program on the PATH: kubectl_complete-upgrade, on Windows with .cmd. The
// archives of a published version have it, too.
//
//go:embed completion
var pluginCompletions embed.FS

func pluginCompletion(system string) ([]byte, error) {
	name := "completion/kubectl_complete-upgrade"
	if system == "windows" {
		name += ".cmd"
	}
	return pluginCompletions.ReadFile(name)
}

func newCompletion(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion kubectl|bash|zsh|fish|powershell",
		Short: "Print a shell completion script",
		Long: `Prints a completion script. Use "kubectl" for the command kubectl upgrade: in every
shell where kubectl itself completes, kubectl runs the script if it is on the PATH as
a program named kubectl_complete-upgrade (on Windows kubectl_complete-upgrade.cmd). The
others are for calling the program kubectl-upgrade directly.`,
		Example: `  kubectl upgrade completion kubectl > ~/.local/bin/kubectl_complete-upgrade
  chmod +x ~/.local/bin/kubectl_complete-upgrade`,
		Args:      oneShell,
		ValidArgs: shells,
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
			script, err := pluginCompletion(runtime.GOOS)
			if err != nil {
				return err
			}
			_, err = p.Out.Write(script)
			return err
		},
	}
}

// shells are what there are completion scripts for.
var shells = []string{"kubectl", "bash", "zsh", "fish", "powershell"}

func oneShell(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || !slices.Contains(shells, args[0]) {
		return fmt.Errorf("%s needs one of %s, such as `%s kubectl`", cmd.CommandPath(), strings.Join(shells, ", "), cmd.CommandPath())
	}
	return nil
}
