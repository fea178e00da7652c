package hostverb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysupdate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var uninstall = Entry{
	Verb:         verb.Uninstall,
	Help:         "give the node back: restore its own definitions, and remove what kubectl-upgrade keeps on it",
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	NeedsNoState: true,
	Direct:       true,
	Run: func(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
		return nil, giveBack(ctx, l, log)
	},
}

// giveBack undoes what kubectl-upgrade has changed on a node on which no upgrade is in
// progress. It may be repeated after it was interrupted: what it needs is removed last.
func giveBack(ctx context.Context, l host.Layout, log *host.Log) error {
	if err := host.StopVerbs(ctx, log, host.RunProgram, interruptible, uninterruptible); err != nil {
		return err
	}
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return err
	}
	if err := sysupdate.GiveBack(l); err != nil {
		return err
	}
	return l.Uninstall(ctx, log, host.RunProgram)
}

// Verbs that may be stopped at any moment, and those that are not: the node is being
// upgraded while one of these runs.
var (
	interruptible   = []verb.Verb{verb.Stage, verb.Pull, verb.Disarm, verb.Confirm}
	uninterruptible = []verb.Verb{verb.Snapshot, verb.Kubeadm, verb.Activate, verb.Restart}
)
