package main

import (
	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// newGuardCommand returns the command that the guard's unit runs.
func newGuardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "guard",
		Short: "Return this node to its former Kubernetes if the activated one does not become healthy",
		Long: `Return this node to its former Kubernetes if the activated one does not become healthy.

The unit kubectl-upgrade-guard.service runs this from an activation until the node is
verified. Without an activation to guard it does nothing.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return guard.Run(cmd.Context(), host.OnNode, host.NewLog(cmd.ErrOrStderr()))
		},
	}
}
