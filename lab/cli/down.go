package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
)

func downCommand(where *folders) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster and all that it changed on this machine",
		Long:  "Remove the cluster and all that it changed on this machine. What it was made from stays in the cache.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := cluster.Down(cmd.Context(), where.state, progress(cmd.ErrOrStderr()))
			if errors.Is(err, cluster.ErrNone) {
				fmt.Fprintln(cmd.OutOrStdout(), "There is no lab.")
				return nil
			}
			return err
		},
	}
}
