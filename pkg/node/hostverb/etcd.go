package hostverb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var etcdHealth = Entry{
	Verb:         verb.Etcd,
	Help:         "check the health of each etcd member",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ControlPlane: true,
	Direct:       true,
}
