package main

import (
	"context"
	"encoding/json"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// uninstall undoes what kubectl-upgrade has changed on a node on which no upgrade is in
// progress. It may be repeated after it was interrupted: what it needs is removed last.
func uninstall(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
	if err := host.StopVerbs(ctx, log, host.RunProgram, interruptible, uninterruptible); err != nil {
		return nil, err
	}
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return nil, err
	}
	if err := sysupdate.GiveBack(l); err != nil {
		return nil, err
	}
	return nil, l.Uninstall(ctx, log, host.RunProgram)
}

// Verbs that may be stopped at any moment, and those that are not: the node is being
// upgraded while one of these runs.
var (
	interruptible   = []verb.Verb{verb.Stage, verb.Pull, verb.Disarm, verb.Confirm}
	uninterruptible = []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Renew, verb.PutBack, verb.Activate, verb.Restart}
)
