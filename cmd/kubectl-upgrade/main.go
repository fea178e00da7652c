// kubectl-upgrade is the kubectl plugin: `kubectl upgrade`.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // zones are printed and understood where the machine has none

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs ask for these
	"k8s.io/klog/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cli"
)

// version is set when a release is built.
var version string

func main() {
	klog.SetLogger(logr.Discard()) // errors are told once, in one line
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	err := cli.New(streams, versionOrBuild()).ExecuteContext(ctx)
	stop()
	os.Exit(cli.Exit(err, os.Stderr))
}

// versionOrBuild is the module's version where `go install` built the program.
func versionOrBuild() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
