package hostverb

import (
	"context"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Table has every verb.
var Table = []Entry{facts, disarm, stage, pull, snapshot, kubeadmUpgrade, activate, restart, confirm, etcdHealth, uninstall}

// Entry has the properties of a verb.
type Entry struct {
	Verb verb.Verb
	// Help describes the verb in `node-agent host --help`.
	Help string
	// Timeout is the time after which systemd ends the verb.
	Timeout time.Duration
	// Failed is the reason for a failure that has no reason of its own.
	Failed v1alpha1.Reason
	// Args makes the verb's arguments. Nil means that there are none.
	Args func(ctx context.Context, o Input) (any, error)
	// Direct runs the verb without anything installed on the node: see host.Options.
	Direct bool
	// MountsImage mounts the staged image at host.ImageMount, for the verb's
	// unit only.
	MountsImage bool
	// ChecksSpec makes the agent compare the NodeUpgrade's spec with what the upgrade
	// fixed at its trigger, before the verb starts.
	ChecksSpec bool
	// Policy is what the agent asks of the UpgradePolicy, live, before the verb starts.
	// Verbs of an attempt ask nothing: the gate has asked.
	Policy Policy
	// WholeNode runs the verb in the node's own mount namespace.
	WholeNode bool
	// ControlPlane limits the verb to control-plane nodes.
	ControlPlane bool
	// ChangesFacts reports whether the facts may differ after the verb.
	ChangesFacts bool
	// NeedsNoState reports whether the verb may start although the machine's State
	// could not be written: all that the next agent needs is in its result.
	NeedsNoState bool
}

// Policy is what a verb asks of the UpgradePolicy.
type Policy int

// What a verb may ask.
const (
	PolicyNotAsked Policy = iota
	PolicyExists          // that there is one
	PolicyManages         // that its mode is Manage
)

// Lookup returns the verb's entry, and false if there is no such verb.
func Lookup(v verb.Verb) (Entry, bool) {
	for _, e := range Table {
		if e.Verb == v {
			return e, true
		}
	}
	return Entry{}, false
}

// Failures maps each verb to the reason for a failure that has no reason of its own.
func Failures() map[verb.Verb]v1alpha1.Reason {
	failures := map[verb.Verb]v1alpha1.Reason{}
	for _, e := range Table {
		failures[e.Verb] = e.Failed
	}
	return failures
}
