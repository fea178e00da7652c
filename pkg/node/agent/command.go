package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/program"
)

// options are the flags.
type options struct {
	node          string
	kubeletConfig string
	accountDir    string
	bus           string
}

const (
	// readyDir has the file that exists while the agent is ready. The agent listens on no
	// port that a probe could ask.
	readyDir = "/run/node-agent"
	// readyWithin is by when an agent that cannot report is ready.
	readyWithin = time.Minute
)

// NewCommand returns the command that runs the agent of a node, which has that version.
func NewCommand(version string) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "agent",
		Short:        "Upgrade the Kubernetes of this node when the coordinator releases it",
		Version:      version,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runProgram(command.Context(), version, o)
		},
	}
	command.Flags().StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "name of this node; default: $NODE_NAME")
	command.Flags().StringVar(&o.kubeletConfig, "kubelet-config", "/etc/kubernetes/kubelet.conf",
		"the kubelet's kubeconfig: address of the API server, and identity for cordon and eviction")
	command.Flags().StringVar(&o.accountDir, "service-account", AccountDir, "folder with the ServiceAccount's token and ca.crt")
	command.Flags().StringVar(&o.bus, "bus", host.SystemBus, "D-Bus address of the host's system bus")
	command.AddCommand(program.NewReadyCommand(readyDir, "agent"))
	return command
}

// runProgram connects to the cluster and to the host, and runs the agent until ctx ends. It returns why the agent
// cannot begin, or go on.
func runProgram(ctx context.Context, version string, o options) error {
	if o.node == "" {
		return errors.New("the node's name is missing: set --node or NODE_NAME")
	}
	access, err := readAccess(o.kubeletConfig, o.node)
	if err != nil {
		return err
	}
	if err := access.CheckUser(ctx, access.ofKubelet(o.accountDir), o.node); err != nil {
		return err
	}
	clients, err := connect(access, o.accountDir)
	if err != nil {
		return err
	}
	ready, err := program.NewReady(readyDir)
	if err != nil {
		return err
	}
	machine := host.NewClient(host.Root, o.bus, verb.Failures())
	defer machine.Close()
	ctx, end := context.WithCancel(ctx)
	changed := make(chan error, 1)
	go func() {
		defer end()
		changed <- access.watch(ctx, func(ctx context.Context) bool { return isReached(ctx, clients.Kubelet, o.node) })
	}()
	refused := New(Config{
		Node:       o.node,
		Version:    version,
		Host:       machine,
		Install:    func() error { return host.Install(host.ImageProgram, host.Root) },
		Account:    clients.Account,
		Kubelet:    clients.Kubelet,
		Upgrades:   clients.Upgrades,
		ClockAhead: clients.Clock.Ahead,
		Events:     NewRecorder(ctx, clients.Account.Events(), "node-agent", o.node),
		Log:        slog.Default(),
		Output:     os.Stderr,
		Ready: func() {
			if err := ready.Set(); err != nil {
				slog.ErrorContext(ctx, "reporting that the agent is ready", "node", o.node, "error", err)
			}
		},
		ReadyWithin: readyWithin,
		Watchdog:    program.ExitingWatchdog("the agent"),
		Now:         time.Now,
	}).Run(ctx)
	end()
	return cmp.Or(refused, <-changed)
}
