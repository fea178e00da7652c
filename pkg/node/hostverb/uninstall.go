package hostverb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var uninstall = Entry{
	Verb:         verb.Uninstall,
	Help:         "give the node back: restore its own definitions, and remove what kubectl-upgrade keeps on it",
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	Policy:       PolicyExists,
	NeedsNoState: true,
	Direct:       true,
}
