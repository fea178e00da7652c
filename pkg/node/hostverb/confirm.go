package hostverb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var confirm = Entry{
	Verb:         verb.Confirm,
	Help:         "end the guard's watch, as the node is verified",
	Timeout:      time.Minute,
	Failed:       v1alpha1.ReasonHostUnreachable,
	ChangesFacts: true,
}
