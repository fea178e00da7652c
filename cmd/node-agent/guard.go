package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// newGuardCommand returns the command that prints what the last activation recorded.
// It does not roll back: that is not written yet, and no unit runs it at boot.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "guard",
		Short: "Show what a rollback to the former kubelet would restore (nothing is rolled back yet)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			guard, err := host.OnNode.Guard()
			if err != nil {
				return err
			}
			if guard == nil {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no image has been activated on this node")
				return err
			}
			return printJSON(cmd.OutOrStdout(), guard)
		},
	}
}
