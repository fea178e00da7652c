package hostverb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/etcd"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

var etcdHealth = Entry{
	Verb:         verb.Etcd,
	Help:         "check the health of each etcd member",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ControlPlane: true,
	Direct:       true,
	Run: func(ctx context.Context, l host.Layout, _ json.RawMessage, _ *host.Log) (any, error) {
		return etcd.HealthOutput{Etcd: etcd.Health(ctx, l)}, nil
	},
}
