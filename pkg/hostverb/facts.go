package hostverb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/nodefacts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var facts = Entry{
	Verb:    verb.Facts,
	Help:    "show what is installed, merged and active",
	Timeout: time.Minute,
	Failed:  v1alpha1.ReasonHostUnreachable,
	Direct:  true,
	Run:     gather,
}

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
