package cli

import (
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"
)

func execCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "exec NODE -- COMMAND [ARG...]",
		Short: "Run a command on a node",
		Long:  "Run a command on a node, as root. The exit code is the command's own.",
		Example: `  lab exec w1 -- journalctl -u kubelet -n 20
  lab exec cp1 -- bash`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := where.open(cmd)
			if err != nil {
				return err
			}
			enter, err := c.Command(cmd.Context(), args[0], args[1:]...)
			if err != nil {
				return err
			}
			return become(enter.Path, enter.Args)
		},
	}
}

// become replaces this program with the command, which gets the terminal and the
// signals, and whose exit code counts.
func become(path string, args []string) error {
	if err := syscall.Exec(path, args, os.Environ()); err != nil {
		return fmt.Errorf("running %s: %w", path, err)
	}
	return nil
}
