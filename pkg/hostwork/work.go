package hostwork

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/nodefacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
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
	facts.SoftReboots, facts.Node.SoftRebootProblem = soft.Count, soft.Problem
	return facts, nil
}

func disarm(_ context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return output(sysupdate.Disarm(l))
}

func activate(ctx context.Context, l host.Layout, args verb.ActivateArgs, _ *host.Log) (*sysupdate.ActivateOutput, error) {
	return sysupdate.Activate(ctx, l, args)
}

// confirm ends the guard, and forgets the files that a rollback would restore: they are not
// those of another upgrade.
func confirm(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return nil, err
	}
	return nil, l.ForgetKubeletFiles()
}

func etcdHealth(ctx context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
	return verb.EtcdOutput{Etcd: etcd.Health(ctx, l)}, nil
}
