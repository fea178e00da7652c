// Package program runs the commands that run in a cluster: the agent, the coordinator, and
// the node's own program.
package program

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// Run executes the command and ends the process. SIGTERM and an interrupt end the command's
// context.
func Run(command *cobra.Command) {
	// client-go logs through klog.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	klog.SetSlogLogger(slog.Default())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command.ExecuteContext(ctx)
	stopped := ctx.Err() != nil
	stop()
	switch {
	case err != nil && stopped:
		os.Exit(128 + int(syscall.SIGTERM)) // as a shell reports it; the guard's unit expects it
	case err != nil:
		os.Exit(1)
	}
}
