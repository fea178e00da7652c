package machine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// maxShown is how many of the parts that are missing a message names.
const maxShown = 8

// writtenDown returns s with what the node has, unless it is written down already. The node may lack some of it by the time
// that it comes to this step again.
func (s State) writtenDown(o Observation) State {
	if s.Parts == nil {
		s.Parts = o.Parts
	}
	return s
}

// NeedsParts reports whether Next needs Observation.Parts: before a node is cordoned, or its kubelet restarted.
func NeedsParts(s State) bool {
	return s.Parts == nil && (s.Step == v1alpha1.StepCordoning || s.Step == v1alpha1.StepLastCheck && s.restarts())
}

// NeedsWhole reports whether Next needs Observation.Whole: a part that is missing leads to another step or message.
func NeedsWhole(s State, o Observation) bool {
	if s.Parts == nil || s.Step != v1alpha1.StepSettling && s.Step != v1alpha1.StepFailed {
		return false
	}
	o.Whole = &Whole{Missing: []string{"a part"}}
	lacks, _ := Next(s, o)
	o.Whole = &Whole{}
	whole, _ := Next(s, o)
	return lacks.Step != whole.Step || lacks.Message != whole.Message
}

// isWhole reports whether the node has what it had before it went out of service, as far as that was written down. What
// it has now must be known.
func isWhole(s State, o Observation) bool {
	return s.Parts == nil || o.Whole != nil && len(o.Whole.Missing) == 0
}

func wholeTimeout(o Observation) time.Duration {
	return clusterstate.Seconds(cmp.Or(o.Spec.Whole.TimeoutSeconds, v1alpha1.DefaultStrategy().Whole.TimeoutSeconds))
}

// awaitWhole waits until the node is whole, before it is uncordoned. Its limit counts from the first settle time: a node
// whose kubelet restarts meanwhile, as an installer of drivers has it do, does not extend it.
func awaitWhole(s State, o Observation) (State, Action) {
	limit := o.watched(s.firstEntered(v1alpha1.StepSettling, v1alpha1.StepVerifying)).Add(settle(o) + wholeTimeout(o))
	missing := "could not determine what the node has"
	if o.Whole != nil {
		missing = listed(o.Whole.Missing)
	}
	if !o.Now.Before(limit) {
		return fail(s, o, v1alpha1.ReasonNotWhole, fmt.Sprintf("not back %s after the settle time: %s", wholeTimeout(o), missing))
	}
	return s.withReason(v1alpha1.ReasonNotWhole, missing).withUntil(limit), wakeAt(limit)
}

// awaitPods waits, in service and with the slot, until nothing keeps pods from the node that did not before. since is when
// that began to matter.
func awaitPods(s State, o Observation, since time.Time) (State, Action) {
	limit := since.Add(wholeTimeout(o))
	if !o.Now.Before(limit) {
		return fail(s, o, v1alpha1.ReasonNotWhole, fmt.Sprintf("pods are kept away %s after the node went back into service: %s", limit.Sub(s.Since), listed(o.KeptOut)))
	}
	return s.withReason(v1alpha1.ReasonNotWhole, "in service, and pods are kept away: "+listed(o.KeptOut)).withUntil(limit), wakeAt(limit)
}

// listed returns a list for a message.
func listed(list []string) string {
	text := strings.Join(list[:min(len(list), maxShown)], "; ")
	if more := len(list) - maxShown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
