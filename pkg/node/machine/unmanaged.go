package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

const uninstallKey = "uninstall"

// unmanaged changes nothing on the node, but undoes what was changed on it before. It is
// called between attempts only.
func unmanaged(s State, o Observation) (State, Action) {
	s = s.withoutUpgrade()
	message := "no upgrade is requested"
	if o.GiveBack {
		message = "the node is not managed: nothing on it is changed"
	}
	s.RetryAt = time.Time{}
	if o.Host.Supported {
		s = s.enter(v1alpha1.StepIdle, o).withReason(v1alpha1.ReasonNoUpgrade, message)
	} else {
		s = s.enter(v1alpha1.StepUnsupported, o).withReason(v1alpha1.ReasonUnsupported, o.Host.UnsupportedReason)
	}
	work := o.Work[verb.Uninstall]
	if !o.GiveBack || !o.Host.HasFiles || work.Running {
		return s, Action{}
	}
	if again := work.FinishedAt.Add(confRetry); !work.FinishedAt.After(o.Now) && o.Now.Before(again) {
		return s, wait(again)
	}
	return start(s, o, verb.Uninstall, uninstallKey)
}
