package hostverb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var disarm = Entry{
	Verb:         verb.Disarm,
	Help:         "prevent other programs from activating or deleting images",
	Timeout:      10 * time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
	Policy:       PolicyManages,
	NeedsNoState: true,
}
