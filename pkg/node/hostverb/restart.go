package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var restart = Entry{
	Verb:         verb.Restart,
	Help:         "merge the active image now and restart the kubelet",
	Timeout:      5 * time.Minute,
	Failed:       v1alpha1.ReasonRestartFailed,
	WholeNode:    true,
	ChangesFacts: true,
	Args:         args(restartArgs),
}

// restartArgs names the active version: the NodeUpgrade's spec may be for another upgrade
// by now.
func restartArgs(_ context.Context, o Input) (verb.RestartArgs, error) {
	return verb.RestartArgs{Version: o.Active}, nil
}
