package cli

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

func logsCommand(where *folders) *cobra.Command {
	var follow, console bool
	var unit string
	cmd := &cobra.Command{
		Use:   "logs NODE",
		Short: "Show a node's journal, also while it is off",
		Example: `  lab logs w1 -u kubelet -f
  lab logs w1 --console`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			machine, err := c.Node(args[0])
			if err != nil {
				return err
			}
			reader := journalArgs(machine.Journal(), unit, follow)
			if console {
				reader = consoleArgs(machine.Console(), follow)
			}
			path, err := exec.LookPath(reader[0])
			if err != nil {
				return fmt.Errorf("reading the logs: %w", err)
			}
			return become(path, reader)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as more is written")
	cmd.Flags().StringVarP(&unit, "unit", "u", "", "of this unit only")
	cmd.Flags().BoolVar(&console, "console", false, "what the machine prints as it boots and shuts down, instead of the journal")
	cmd.MarkFlagsMutuallyExclusive("console", "unit")
	return cmd
}

func journalArgs(dir, unit string, follow bool) []string {
	args := []string{"journalctl", "--directory", dir}
	if unit != "" {
		args = append(args, "--unit", unit)
	}
	if follow {
		args = append(args, "--follow")
	}
	return args
}

func consoleArgs(file string, follow bool) []string {
	args := []string{"tail", "--lines=+1"}
	if follow {
		args = append(args, "--follow")
	}
	return append(args, file)
}
