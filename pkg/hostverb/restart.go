package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/sysext"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var restart = define(Entry{
	Verb:         verb.Restart,
	Help:         "merge the active image now and restart the kubelet",
	Timeout:      5 * time.Minute,
	Failed:       v1alpha1.ReasonRestartFailed,
	WholeNode:    true,
	ChangesFacts: true,
	CleanUp:      sysext.CleanUp,
}, restartArgs, sysext.Restart)

// restartArgs names the active version: the NodeUpgrade's spec may be for another upgrade
// by now.
func restartArgs(_ context.Context, o Input) (sysext.RestartArgs, error) {
	return sysext.RestartArgs{Version: o.Active}, nil
}
