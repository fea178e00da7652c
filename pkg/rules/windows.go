package rules

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// Windows decides when nodes may begin according to the schedules. Nodes with the same
// schedules have the same availability, so it is computed once for all of them and cached
// until it changes.
type Windows struct {
	schedules []v1alpha1.MaintenanceSchedule
	ignored   bool // only exclusions count
	selectors []labels.Selector
	classes   map[classKey]*Class
	moment    *schedule.Moment // for the instant at
	at        time.Time
}

// Class is the nodes to which the same schedules apply, and for which the upgrade has
// the same type.
type Class struct {
	labels map[string]string // of one of them
	kind   v1alpha1.UpgradeType
	last   *Availability
}

// classKey identifies a class: the type, and which schedules' selectors match.
type classKey struct {
	kind    v1alpha1.UpgradeType
	matches string
}

// Availability is what the schedules say for a class, from one instant until it changes.
type Availability struct {
	Hold   clusterstate.Hold
	Closes *time.Time // when the open window closes; nil: that is not known
	// tooShort caches the holds of nodes that need longer than is left, by need.
	tooShort map[time.Duration]clusterstate.Hold
}

// Changes returns when the availability may change; nil: that is not known.
func (a *Availability) Changes() *time.Time {
	if a.Hold.Holds() {
		return a.Hold.Until
	}
	return a.Closes
}

// Fits reports whether work that begins at now and takes need ends before the window
// closes.
func (a *Availability) Fits(now time.Time, need time.Duration) bool {
	return a.Closes == nil || !now.Add(need).After(*a.Closes)
}

// NewWindows reads the schedules for the upgrade. windowPolicy has no effect after its
// end: a node that joins late waits for a window.
func NewWindows(upgrade *v1alpha1.ClusterUpgrade, schedules []v1alpha1.MaintenanceSchedule) *Windows {
	w := &Windows{schedules: schedules, classes: map[classKey]*Class{}}
	w.ignored = upgrade.Spec.IgnoresWindows() && upgrade.Status.Outcome == ""
	for _, s := range schedules {
		if s.Spec.NodeSelector == nil {
			continue
		}
		// An invalid selector closes the windows of every class.
		if selector, err := s.Spec.NodeSelector.AsSelector(); err == nil {
			w.selectors = append(w.selectors, selector)
		}
	}
	return w
}

// ClassOf returns the class of a node with these labels, for which the upgrade has that type.
func (w *Windows) ClassOf(nodeLabels map[string]string, kind v1alpha1.UpgradeType) *Class {
	matches := make([]byte, len(w.selectors))
	for i, selector := range w.selectors {
		if selector.Matches(labels.Set(nodeLabels)) {
			matches[i] = 1
		}
	}
	key := classKey{kind, string(matches)}
	c := w.classes[key]
	if c == nil {
		c = &Class{labels: nodeLabels, kind: kind}
		w.classes[key] = c
	}
	return c
}

// Lookup returns what the schedules say for the class at now. now must not decrease
// between calls.
func (w *Windows) Lookup(c *Class, now time.Time) *Availability {
	if a := c.last; a != nil {
		if t := a.Changes(); t == nil || now.Before(*t) {
			return a
		}
	}
	if w.moment == nil || !w.at.Equal(now) {
		w.moment, w.at = schedule.NewMoment(w.schedules, now), now
	}
	c.last = &Availability{}
	c.last.Hold, c.last.Closes = w.evaluate(c, w.moment)
	return c.last
}

// evaluate returns what the schedules say for the class at that moment.
func (w *Windows) evaluate(c *Class, moment *schedule.Moment) (hold clusterstate.Hold, closes *time.Time) {
	verdict := moment.At
	if w.ignored {
		verdict = moment.IgnoringWindows
	}
	said := verdict(c.labels, c.kind)
	if said.Open {
		return clusterstate.Hold{}, said.Until
	}
	return clusterstate.Hold{Reason: said.Reason, Message: said.Message, Until: said.Until}, nil
}

// maxOpenings is how many openings nextOpening examines.
const maxOpenings = 8

// TooShort returns the hold for nodes that need longer than the window stays open,
// until the next opening that is long enough. It is computed once for all nodes with
// the same need.
func (w *Windows) TooShort(c *Class, a *Availability, need time.Duration) clusterstate.Hold {
	if hold, found := a.tooShort[need]; found {
		return hold
	}
	// The remaining time is left out: the message would change with every plan.
	message := fmt.Sprintf("a node is expected to need %s, longer than is left until %s", need, clusterstate.FormatTime(*a.Closes))
	until := w.nextOpening(c, *a.Closes, need)
	if until == nil {
		message += "; none of the next openings is long enough"
	} else {
		message += "; the next opening that is long enough begins " + clusterstate.FormatTime(*until)
	}
	hold := clusterstate.Hold{Reason: v1alpha1.ReasonInsufficientTime, Message: message, Until: until, Stays: until == nil}
	if a.tooShort == nil {
		a.tooShort = map[time.Duration]clusterstate.Hold{}
	}
	a.tooShort[need] = hold
	return hold
}

// nextOpening returns the start of the first opening from at on that lasts for need.
// Nil: none of the next few does.
func (w *Windows) nextOpening(c *Class, at time.Time, need time.Duration) *time.Time {
	for openings := 0; openings < maxOpenings; {
		hold, closes := w.evaluate(c, schedule.NewMoment(w.schedules, at))
		switch {
		case hold.Holds() && hold.Until == nil:
			return nil
		case hold.Holds():
			at = *hold.Until
		case closes == nil || closes.Sub(at) >= need:
			return &at
		default:
			at = *closes
			openings++
		}
	}
	return nil
}

// Window returns why the upgrade may not begin on a node with these labels at now, as far
// as people decide that: suspend, startTime, approval, windows and exclusions. A Hold
// without a reason means that it may. Until is when the result may change; nil: that is
// not known.
//
// kind is the upgrade's type for this node, as in NodeUpgrade.spec.type: a node that
// joins late may be a minor behind. An unknown type is held by every exclusion.
//
// need is how long the node is expected to take: Window returns InsufficientTime if the
// window closes before. Zero checks only now, for a node that has begun already.
//
// Window runs the planner's own filters, for the agent: it calls Window with what it reads
// itself, before it begins and before it activates the image.
func Window(upgrade *v1alpha1.ClusterUpgrade, kind v1alpha1.UpgradeType, schedules []v1alpha1.MaintenanceSchedule,
	nodeLabels map[string]string, now time.Time, need time.Duration) clusterstate.Hold {
	if hold := Upgrade(upgrade, now); hold.Holds() {
		return hold
	}
	w := NewWindows(upgrade, schedules)
	c := w.ClassOf(nodeLabels, kind)
	a := w.Lookup(c, now)
	if !a.Hold.Holds() && !a.Fits(now, need) {
		return w.TooShort(c, a, need)
	}
	return a.Hold
}
