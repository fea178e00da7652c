// Command node-agent is everything of kubectl-upgrade that runs in a cluster:
// the agent of each node, the coordinator, and the verbs that the agent has
// the node's systemd run from a copy of this very program.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "node-agent",
		Short:        "Upgrade the Kubernetes of Flatcar nodes",
		SilenceUsage: true,
	}
	root.AddCommand(newAgentCommand(), newCoordinatorCommand(), newHostCommand(), newGuardCommand())
	return root
}
