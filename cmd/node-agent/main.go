// Command node-agent is everything of kubectl-upgrade that runs in a cluster:
// the agent of each node, the coordinator, and the verbs that the agent has
// the node's systemd run from a copy of this very program.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

func main() {
	// Lines of key=value, client-go's own among them.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	klog.SetSlogLogger(slog.Default())
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
