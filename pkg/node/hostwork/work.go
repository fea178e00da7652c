package hostwork

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/kubelet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/nodefacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// gather returns host.Facts.
func gather(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	facts, err := host.Gather(l)
	if err != nil {
		return nil, err
	}
	soft, err := l.SoftReboots(ctx, log, host.RunProgram)
	if err != nil {
		return nil, err
	}
	var problem error
	if facts.Confs, problem = sysupdate.Confs(l); problem != nil {
		facts.ConfProblem = problem.Error()
	}
	facts.Armed = sysupdate.Armed(l)
	facts.Node = nodefacts.Gather(l, time.Now())
	facts.KubeletProblem = kubeletProblem(ctx, l, facts.Supported)
	facts.Node.DefinitionsProblem = facts.ConfProblem
	facts.SoftReboots, facts.Node.SoftRebootProblem = soft.Count, soft.Problem
	return facts, nil
}

// kubeletProblem returns what the kubelet's health endpoint shows to be wrong. Where Kubernetes
// does not come as an image, another unit may run it.
func kubeletProblem(ctx context.Context, l host.Layout, isImage bool) string {
	processes := kubelet.Processes(l)
	if !isImage && !slices.ContainsFunc(processes, kubelet.Process.IsKubelet) {
		return ""
	}
	return kubelet.Problem(ctx, l, processes)
}

func disarm(_ context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return output(sysupdate.Disarm(l))
}

func activate(ctx context.Context, l host.Layout, args verb.ActivateArgs, _ *host.Log) (*sysupdate.ActivateOutput, error) {
	return sysupdate.Activate(ctx, l, args)
}

// confirm ends the guard, and forgets the files that a rollback would restore: they are not
// those of another upgrade. It refuses while the kubelet does not work: the guard may still
// return the node, and what the agent knows of the kubelet may be a minute old.
func confirm(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	if problem := kubelet.Problem(ctx, l, kubelet.Processes(l)); problem != "" {
		return nil, host.Fail(v1alpha1.ReasonUnhealthy, "%s", problem)
	}
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return nil, err
	}
	return nil, l.ForgetKubeletFiles()
}

func etcdHealth(ctx context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return verb.EtcdOutput{Etcd: etcd.Health(ctx, l)}, nil
}
