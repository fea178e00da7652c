package guard

import (
	"context"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Confirm ends the guard, and forgets the files that a rollback would restore: they are not
// those of another upgrade. It refuses while the kubelet does not work: the guard may still
// return the node, and what the agent knows of the kubelet may be a minute old.
func Confirm(ctx context.Context, l host.Layout, log *host.Log) error {
	if problem := facts.KubeletProblem(ctx, l, facts.Processes(l)); problem != "" {
		return host.Fail(v1alpha1.ReasonUnhealthy, "%s", problem)
	}
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return err
	}
	return l.ForgetKubeletFiles()
}
