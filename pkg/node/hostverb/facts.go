package hostverb

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

var facts = Entry{
	Verb:    verb.Facts,
	Help:    "show what is installed, merged and active",
	Timeout: time.Minute,
	Failed:  v1alpha1.ReasonHostUnreachable,
	Direct:  true,
}
