package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/guard"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubeadm"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/rehearsal"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/renewal"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// work is what a verb does.
type work struct {
	// Run carries out the verb on the node.
	Run host.Work
	// CleanUp repairs what a killed run may have left. Nil means that there is
	// nothing to repair.
	CleanUp func(l host.Layout, log *host.Log) error
}

// table has the function of each verb; verb.Table has their other properties. The agent does not
// link these functions: clients of etcd and of the container runtime would stay in its memory.
var table = map[verb.Verb]work{
	verb.Facts:     {Run: gather},
	verb.Disarm:    {Run: disarm},
	verb.Stage:     {Run: with(sysupdate.Stage)},
	verb.Pull:      {Run: with(kubeadm.Pull)},
	verb.Snapshot:  {Run: with(etcd.Take)},
	verb.Kubeadm:   {Run: with(kubeadm.Upgrade), CleanUp: kubeadm.CleanUp},
	verb.Renew:     {Run: with(renewal.Renew), CleanUp: renewal.PutBack},
	verb.PutBack:   {Run: putBack},
	verb.Activate:  {Run: with(activate)},
	verb.Restart:   {Run: with(sysext.Restart), CleanUp: sysext.CleanUp},
	verb.Confirm:   {Run: confirm},
	verb.Etcd:      {Run: etcdHealth},
	verb.Uninstall: {Run: uninstall},
}

// with adapts the function of a verb that has arguments.
func with[A, O any](run func(context.Context, host.Layout, A, *host.Log) (*O, error)) host.Work {
	return func(ctx context.Context, l host.Layout, raw json.RawMessage, log *host.Log) (any, error) {
		args, err := decode[A](raw)
		if err != nil {
			return nil, err
		}
		return output(run(ctx, l, args, log))
	}
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

// output returns a nil interface for a nil pointer.
func output[T any](out *T, err error) (any, error) {
	if out == nil {
		return nil, err
	}
	return out, err
}

func gather(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	found, err := facts.Gather(ctx, l, log)
	if err != nil {
		return nil, err
	}
	findImages(ctx, l, &found, log)
	rehearsal.Rehearse(ctx, l, &found, log)
	return found, nil
}

// findImages looks whether the container images that were pulled for the next version are still on the node.
func findImages(ctx context.Context, l host.Layout, found *verb.HostFacts, log *host.Log) {
	pulled, err := kubeadm.LastPulled(l)
	if err == nil && found.ControlPlane && pulled.Version != found.Merged && slices.Contains(found.Installed, pulled.Version) {
		found.PulledFor = clusterstate.ConfigurationHash(pulled.ClusterConfiguration)
		if pulled.KubeProxyConfig != "" {
			found.PulledForProxy = clusterstate.ConfigurationHash(pulled.KubeProxyConfig)
		}
		found.ImagesMissing, err = pulled.Missing(ctx, l)
	}
	if err != nil {
		log.Printf("looking for the container images of %s: %v", pulled.Version, err)
	}
}

func disarm(_ context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return output(sysupdate.Disarm(l))
}

func activate(ctx context.Context, l host.Layout, args verb.ActivateArgs, _ *host.Log) (*sysupdate.ActivateOutput, error) {
	return sysupdate.Activate(ctx, l, args, facts.FindKubelet(ctx, l).ManifestsDir())
}

func confirm(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	return nil, guard.Confirm(ctx, l, log)
}

func putBack(_ context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	return nil, renewal.PutBack(l, log)
}

func etcdHealth(ctx context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return verb.EtcdOutput{Etcd: etcd.Health(ctx, l)}, nil
}
