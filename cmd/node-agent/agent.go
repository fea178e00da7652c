package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/agent"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/buildversion"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/hostverb"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/observe"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/watchdog"
)

// version is set when a release is built.
var version string

// agentOptions are the flags of `node-agent agent`.
type agentOptions struct {
	node          string
	kubeletConfig string
	accountDir    string
	bus           string
}

func newAgentCommand() *cobra.Command {
	var o agentOptions
	command := &cobra.Command{
		Use:   "agent",
		Short: "Upgrade this node when the coordinator releases it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runAgent(command.Context(), o)
		},
	}
	command.Flags().StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "name of this node; default: $NODE_NAME")
	command.Flags().StringVar(&o.kubeletConfig, "kubelet-config", "/etc/kubernetes/kubelet.conf", "the kubelet's kubeconfig: address of the API server, and identity for cordon and eviction")
	command.Flags().StringVar(&o.accountDir, "service-account", agent.AccountDir, "folder with the ServiceAccount's token and ca.crt")
	command.Flags().StringVar(&o.bus, "bus", host.SystemBus, "D-Bus address of the host's system bus")
	return command
}

func runAgent(ctx context.Context, o agentOptions) error {
	if o.node == "" {
		return errors.New("the node's name is missing: set --node or NODE_NAME")
	}
	clients, err := agent.Connect(o.kubeletConfig, o.accountDir)
	if err != nil {
		return err
	}
	ready, err := newReadiness(readyDir)
	if err != nil {
		return err
	}
	machine := host.NewClient(host.Root, o.bus, hostverb.Failures())
	defer machine.Close()
	agent.New(agent.Config{
		Node:     o.node,
		Version:  buildversion.Or(version),
		Host:     machine,
		Install:  func() error { return host.Install(host.Root) },
		Account:  clients.Account,
		Kubelet:  clients.Kubelet,
		Upgrades: clients.Upgrades,
		Events:   observe.NewRecorder(ctx, clients.Account, "node-agent", o.node),
		Log:      slog.Default(),
		Output:   os.Stderr,
		Ready: func() {
			if err := ready.set(); err != nil {
				slog.ErrorContext(ctx, "reporting that the agent is ready", "node", o.node, "error", err)
			}
		},
		ReadyWithin: readyWithin,
		Watchdog:    watchdog.Exiting("the agent"),
		Now:         time.Now,
	}).Run(ctx)
	return nil
}
