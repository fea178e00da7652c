// kubectl-upgrade is the kubectl plugin: `kubectl upgrade`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for the TZ of a machine without data of its own

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs ask for these
	"k8s.io/klog/v2"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// version is set when a release is built.
var version string

func main() {
	klog.SetLogger(logr.Discard()) // Run writes errors, in one line
	program.SetGC(400)             // a verb takes seconds, and that of a large cluster a fifth of them to collect garbage
	program.SetMemoryLimit()
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	cli.CrashInOneLine(os.Stderr, program.Version(version))
	code := cli.Run(ctx, os.Args[1:], streams, program.Version(version))
	stop()
	os.Exit(code)
}
