// Command node-agent is the part of kubectl-upgrade that runs in a cluster: the
// agent of each node, the coordinator, and the verbs that the agent runs on its node
// through systemd, from a copy of this program.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/buildversion"
)

func main() {
	// client-go logs through klog.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	klog.SetSlogLogger(slog.Default())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stopped := ctx.Err() != nil
	stop()
	switch {
	case err != nil && stopped:
		os.Exit(128 + int(syscall.SIGTERM)) // as a shell reports it; the guard's unit expects it
	case err != nil:
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:          "node-agent",
		Short:        "Upgrade the Kubernetes of Flatcar nodes",
		Version:      buildversion.Or(version),
		SilenceUsage: true,
	}
	root.AddCommand(newAgentCommand(), newReadyCommand(), newCoordinatorCommand(), newHostCommand(), newGuardCommand())
	return root
}
