package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/nodefacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
)

// verbs are what the node's systemd runs for the agent.
var verbs = map[host.Verb]struct {
	short string
	work  host.Work
}{
	host.VerbFacts:    {"look at what is installed, merged and active", facts},
	host.VerbDisarm:   {"keep others from activating or deleting images", disarm},
	host.VerbStage:    {"download and check an image, beside the running one", stage},
	host.VerbKubeadm:  {"run kubeadm upgrade from the staged image", upgrade},
	host.VerbActivate: {"make a staged image the next boot's", activate},
	host.VerbPull:     {"bring the container images of a control plane", pull},
	host.VerbSnapshot: {"take a snapshot of etcd, and verify it", snapshot},
	host.VerbEtcd:     {"ask each member of etcd how it is", etcdHealth},
	host.VerbRestart:  {"merge the active image now and restart the kubelet", restart},
}

func newHostCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Work on the files of the node; run as units by the node's systemd",
	}
	for _, v := range host.Verbs {
		cmd.AddCommand(newVerbCommand(v))
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "ended VERB",
		Short: "Leave a result for a verb that could not leave its own",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := host.Ended(host.OnNode, host.Verb(args[0]), os.Getenv)
			if host.Verb(args[0]) == host.VerbKubeadm {
				err = errors.Join(err, kubeadm.Ended(host.OnNode, host.NewLog(cmd.ErrOrStderr())))
			}
			return err
		},
	})
	return cmd
}

func newVerbCommand(v host.Verb) *cobra.Command {
	return &cobra.Command{
		Use:   string(v),
		Short: verbs[v].short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := host.Run(cmd.Context(), host.OnNode, v, verbs[v].work, cmd.ErrOrStderr())
			if result == nil {
				return err
			}
			return errors.Join(err, printJSON(cmd.OutOrStdout(), result))
		},
	}
}

func facts(context.Context, json.RawMessage, *host.Log) (any, error) {
	facts, err := host.Gather(host.OnNode)
	if err != nil {
		return nil, err
	}
	var problem error
	if facts.Confs, problem = sysupdate.Confs(host.OnNode); problem != nil {
		facts.ConfProblem = problem.Error()
	}
	facts.Armed = sysupdate.Armed(host.OnNode)
	facts.Node = nodefacts.Gather(host.OnNode, time.Now())
	return facts, nil
}

func disarm(context.Context, json.RawMessage, *host.Log) (any, error) {
	return output(sysupdate.Disarm(host.OnNode))
}

func stage(ctx context.Context, raw json.RawMessage, log *host.Log) (any, error) {
	args, err := decode[sysupdate.StageArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(sysupdate.Stage(ctx, host.OnNode, args, log))
}

func upgrade(ctx context.Context, raw json.RawMessage, log *host.Log) (any, error) {
	args, err := decode[kubeadm.UpgradeArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(kubeadm.Upgrade(ctx, host.OnNode, args, log))
}

func activate(ctx context.Context, raw json.RawMessage, _ *host.Log) (any, error) {
	args, err := decode[sysupdate.ActivateArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(sysupdate.Activate(ctx, host.OnNode, args))
}

func pull(ctx context.Context, raw json.RawMessage, log *host.Log) (any, error) {
	args, err := decode[kubeadm.PullArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(kubeadm.Pull(ctx, host.OnNode, args, log))
}

func snapshot(ctx context.Context, raw json.RawMessage, log *host.Log) (any, error) {
	args, err := decode[etcd.SnapshotArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(etcd.Take(ctx, host.OnNode, args, log))
}

func etcdHealth(ctx context.Context, _ json.RawMessage, _ *host.Log) (any, error) {
	return etcd.HealthOutput{Etcd: etcd.Health(ctx, host.OnNode)}, nil
}

func restart(ctx context.Context, raw json.RawMessage, log *host.Log) (any, error) {
	args, err := decode[sysext.RestartArgs](raw)
	if err != nil {
		return nil, err
	}
	return output(sysext.Restart(ctx, host.OnNode, args, log))
}

func decode[T any](raw json.RawMessage) (args T, err error) {
	if len(raw) == 0 {
		return args, errors.New("there is no request with arguments")
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return args, fmt.Errorf("decoding the arguments: %w", err)
	}
	return args, nil
}

// output keeps a typed nil from becoming an output.
func output[T any](out *T, err error) (any, error) {
	if out == nil {
		return nil, err
	}
	return out, err
}

func printJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
