package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Table has every verb.
var Table = []Entry{facts, disarm, stage, pull, snapshot, kubeadmUpgrade, activate, restart, etcdHealth}

// Entry is everything that is asked of a verb.
type Entry struct {
	Verb verb.Verb
	// Help is what it does, for those who read `node-agent host --help`.
	Help string
	// Within is how long it may take until systemd ends it.
	Within time.Duration
	// Failed is the reason of a failure that names none.
	Failed v1alpha1.Reason
	// Run works on the node.
	Run host.Work
	// Args makes the arguments of Run. Nil: there are none.
	Args func(ctx context.Context, o Order) (any, error)
	// Image is true where the unit finds the staged image's files at
	// kubeadm.ImageMount.
	Image bool
	// Ordered is true where the order names the image that it works with: the agent
	// compares that with what the upgrade fixed at its trigger.
	Ordered bool
	// WholeNode is true where what it mounts is for the whole node.
	WholeNode bool
	// ControlPlane is true where it is for control planes only.
	ControlPlane bool
	// ChangesFacts is true where the facts say something else after it.
	ChangesFacts bool
	// Harmless is true where it may be started though the machine's State could
	// not be persisted: its result says all that there is to remember.
	Harmless bool
	// Ended puts right what it leaves when it is killed. Nil: it leaves nothing.
	Ended func(l host.Layout, log *host.Log) error
}

// Of returns the verb's entry, or false where there is no such verb.
func Of(v verb.Verb) (Entry, bool) {
	for _, e := range Table {
		if e.Verb == v {
			return e, true
		}
	}
	return Entry{}, false
}

// Failures maps each verb to the reason of a failure that names none.
func Failures() map[verb.Verb]v1alpha1.Reason {
	failures := map[verb.Verb]v1alpha1.Reason{}
	for _, e := range Table {
		failures[e.Verb] = e.Failed
	}
	return failures
}
