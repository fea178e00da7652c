package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
)

// newGuardCommand reports what the guard was armed with. It rolls nothing
// back: that part is still to be written, and no unit runs this at boot.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "guard",
		Short: "Show what a way back to the former kubelet would restore (it does not restore yet)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			guard, err := host.OnNode.Guard()
			if err != nil {
				return err
			}
			if guard == nil {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no guard was ever armed on this node")
				return err
			}
			return printJSON(cmd.OutOrStdout(), guard)
		},
	}
}
