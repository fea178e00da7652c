package hostverb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var confirm = Entry{
	Verb:         verb.Confirm,
	Help:         "end the guard's watch, as the node is verified",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	Run: func(ctx context.Context, l host.Layout, _ json.RawMessage, log *host.Log) (any, error) {
		return nil, confirmUpgrade(ctx, l, log)
	},
}

// confirmUpgrade ends the guard, and forgets the files that a rollback would restore: they
// are not those of another upgrade.
func confirmUpgrade(ctx context.Context, l host.Layout, log *host.Log) error {
	if err := l.StopGuard(ctx, log, host.RunProgram); err != nil {
		return err
	}
	return l.ForgetKubeletFiles()
}
