package machine

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// Do is a kind of action.
type Do string

// The actions. Each may be done twice in a row without harm.
const (
	DoNothing    Do = ""
	DoWork       Do = "Work"       // run Verb on the host
	DoTake       Do = "Take"       // take the reserved slot
	DoCordon     Do = "Cordon"     // cordon the Node and annotate it with the slot, in one update
	DoDrain      Do = "Drain"      // one round of evictions
	DoReboot     Do = "Reboot"     // reboot the node
	DoSoftReboot Do = "SoftReboot" // reboot all of the node but its kernel
	DoUncordon   Do = "Uncordon"   // remove our cordon and annotations
	DoDisown     Do = "Disown"     // remove the annotation that says the cordon is ours
	DoFree       Do = "Free"       // free the slot
)

// Action is what the agent does next, and when it calls Next again at the latest.
type Action struct {
	Do Do
	// Verb is the host verb that DoWork runs. Key identifies this run: a result with
	// another key belongs to another run.
	Verb verb.Verb
	Key  string
	// Delete makes DoDrain delete the remaining pods instead of evicting them.
	Delete bool
	// Wake is when to call Next again at the latest. Zero means when something changes.
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

// String returns the verb of DoWork, or the name of the action.
func (a Action) String() string {
	if a.Do == DoWork {
		return string(a.Verb)
	}
	return string(a.Do)
}

// Writes reports whether the action writes to the API server.
func (d Do) Writes() bool {
	return d == DoTake || d == DoCordon || d == DoDrain || d == DoUncordon || d == DoDisown || d == DoFree
}

// BringsBack reports whether the action brings a node back into service. Such an action
// is done even if there is no NodeUpgrade to write the State to: the Node's annotations
// and the slot's Lease hold all that is needed to undo the rest.
func (d Do) BringsBack() bool { return d == DoReboot || d == DoUncordon || d == DoFree }
