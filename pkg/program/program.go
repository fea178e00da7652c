// Package program has what all programs of this project do alike: run a command until a
// signal ends it, name their version, end when their loop stops, and leave their last error
// where the kubelet shows it.
package program

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// waitsMostly is SetGC's percentage for programs that wait most of the time.
const waitsMostly = 50

// SetGC lets the heap grow by that percentage of what is in use before garbage is collected, unless the
// environment has GOGC.
func SetGC(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Run executes the command and ends the process. SIGTERM and an interrupt end the command's
// context. The error of a command that was not ended so is the container's last message.
func Run(command *cobra.Command) {
	SetGC(waitsMostly)
	SetMemoryLimit()
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
		leaveMessage(terminationLog, err.Error())
		os.Exit(1)
	}
}

// Version returns linked, which the linker sets (-X main.version=…). If that is empty, it
// returns the module's version if `go install` built the program, or "unknown".
func Version(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
