package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/verb"
)

// Do is one kind of action.
type Do string

// The actions. Each may be done twice in a row without harm.
const (
	DoNothing  Do = ""
	DoWork     Do = "Work"     // have the host run Verb, under Key
	DoTake     Do = "Take"     // take the slot that is reserved
	DoCordon   Do = "Cordon"   // cordon and mark in one update
	DoDrain    Do = "Drain"    // one round of evictions
	DoReboot   Do = "Reboot"   // ask for the reboot
	DoUncordon Do = "Uncordon" // lift our own cordon and clear the marks
	DoFree     Do = "Free"     // free the slot
)

// Action is what to do now, and when to look again if nothing happens before.
type Action struct {
	Do Do
	// Verb is what DoWork has the host run, and Key what that is for.
	Verb verb.Verb
	Key  string
	// Delete makes DoDrain delete the pods that are left.
	Delete bool
	// Wake is when to look again at the latest. Zero: when something happens.
	Wake time.Time
}

func act(do Do) Action {
	return Action{Do: do}
}

func run(v verb.Verb, key string) Action {
	return Action{Do: DoWork, Verb: v, Key: key}
}

func wait(until time.Time) Action {
	return Action{Wake: until}
}

// String returns the name of what is done.
func (a Action) String() string {
	if a.Do == DoWork {
		return string(a.Verb)
	}
	return string(a.Do)
}

// Writes reports whether an action is a write to the API server.
func (d Do) Writes() bool {
	return d == DoTake || d == DoCordon || d == DoDrain || d == DoUncordon || d == DoFree
}

// GivesBack reports whether an action brings a node that is out of service back: it
// is done even where the State is not kept any more, as the Node's marks and the
// slot's Lease say all that there is to undo.
func (d Do) GivesBack() bool { return d == DoReboot || d == DoUncordon || d == DoFree }
