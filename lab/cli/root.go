// Package cli is the command line: it turns arguments into calls of package cluster
// and prints their results.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cluster"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// folders are the lab's state and cache.
type folders struct{ state, cache string }

// Main runs the program and returns its exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := New()
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

// New returns the command with all its subcommands.
func New() *cobra.Command {
	where := &folders{}
	root := &cobra.Command{
		Use:   "lab",
		Short: "A real Kubernetes cluster of Flatcar-like nodes, on this machine",
		Long: `A real Kubernetes cluster of Flatcar-like nodes, on this machine.

Each node is a machine of its own that boots systemd, gets Kubernetes from a
sysext image, and reboots through its own logind. Needs root.`,
		Example: `  lab up --workers 2                     # a cluster of three nodes
  export KUBECONFIG=$(lab kubeconfig --path)
  lab publish v1.34.4                    # now there is something to upgrade to
  lab exec w1 -- systemctl status kubelet
  lab reboot w1
  lab down`,
		PersistentPreRunE: func(*cobra.Command, []string) error { return timelimit.Check() },
		SilenceUsage:      true,
		SilenceErrors:     true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&where.state, "state", env("LAB_STATE", "/var/lib/kubectl-upgrade-lab"), "the lab's folder (LAB_STATE)")
	flags.StringVar(&where.cache, "cache", env("LAB_CACHE", "/var/cache/kubectl-upgrade-lab"), "the files that labs are made from (LAB_CACHE)")
	root.AddCommand(
		upCommand(where), downCommand(where), statusCommand(where), kubeconfigCommand(where),
		publishCommand(where), withdrawCommand(where), faultCommand(where),
		loadImageCommand(where), loadEtcdCommand(where),
		updateEngineCommand(where), containerdCommand(where),
		execCommand(where), logsCommand(where),
		rebootCommand(where), killCommand(where), startCommand(where), partitionCommand(where), healCommand(where), stopManagementCommand(where),
		buildImageCommand(), assetsCommand(where), rootfsCommand(where), packagesCommand(where), etcdCommand(where), demoCommand(where),
		serveCommand(where), manageCommand(where), superviseCommand(where),
	)
	for _, cmd := range root.Commands() {
		cmd.Args = withUsage(cmd.Args)
	}
	return root
}

// withUsage adds the usage of the command to the error of wrong arguments.
func withUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%w; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

// open opens the lab, and makes it report its steps on standard error.
func (f *folders) open(cmd *cobra.Command) (*cluster.Cluster, error) {
	if err := host.RequireRoot(); err != nil {
		return nil, err
	}
	c, err := cluster.Open(f.state)
	if err != nil {
		return nil, err
	}
	c.Report = progress(cmd.ErrOrStderr())
	return c, nil
}
