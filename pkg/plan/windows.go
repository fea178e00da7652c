package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// windows answers when nodes may begin, as far as schedules say. Nodes that the
// same schedules concern get the same answer, so it is found out once for all of
// them and remembered as long as it holds: the answers do not depend on what was
// asked before.
type windows struct {
	schedules []v1alpha1.MaintenanceSchedule
	ignored   bool // exclusions alone count
	selectors []labels.Selector
	classes   map[classKey]*class
	moment    *schedule.Moment // at the instant that was asked about last
	at        time.Time
}

// class is nodes that the same schedules concern, and for which the upgrade is of
// one type.
type class struct {
	labels map[string]string // of one of them
	kind   v1alpha1.UpgradeType
	last   *answer
}

// classKey tells classes apart: by type, and by which schedules' selectors match.
type classKey struct {
	kind    v1alpha1.UpgradeType
	matches string
}

// answer is what schedules say to a class, from one instant until it changes.
type answer struct {
	hold   fleet.Hold
	closes *time.Time // when what is open closes; nil: that is not known
	asked  time.Time  // when it was asked for last
	// tooShort is why nodes that need so long do not begin any more.
	tooShort map[time.Duration]fleet.Hold
}

// changes returns when the answer may change. Nil: that is not known.
func (a *answer) changes() *time.Time {
	if a.hold.Holds() {
		return a.hold.Until
	}
	return a.closes
}

// fits reports whether what begins at now and takes so long is over when the window
// closes.
func (a *answer) fits(now time.Time, need time.Duration) bool {
	return a.closes == nil || !now.Add(need).After(*a.closes)
}

// newWindows reads the schedules for the upgrade. A node that joins after its end
// waits for a window, whatever the others did.
func newWindows(upgrade *v1alpha1.ClusterUpgrade, schedules []v1alpha1.MaintenanceSchedule) *windows {
	w := &windows{schedules: schedules, classes: map[classKey]*class{}}
	w.ignored = upgrade.Spec.IgnoreWindows && upgrade.Status.Outcome == ""
	for _, s := range schedules {
		if s.Spec.NodeSelector == nil {
			continue
		}
		// One that cannot be read closes the windows of every class.
		if selector, err := s.Spec.NodeSelector.AsSelector(); err == nil {
			w.selectors = append(w.selectors, selector)
		}
	}
	return w
}

func (w *windows) classOf(nodeLabels map[string]string, kind v1alpha1.UpgradeType) *class {
	matches := make([]byte, len(w.selectors))
	for i, selector := range w.selectors {
		if selector.Matches(labels.Set(nodeLabels)) {
			matches[i] = 1
		}
	}
	key := classKey{kind, string(matches)}
	c := w.classes[key]
	if c == nil {
		c = &class{labels: nodeLabels, kind: kind}
		w.classes[key] = c
	}
	return c
}

// ask returns what schedules say to the class at now, which is never before the
// instant that was asked about last.
func (w *windows) ask(c *class, now time.Time) *answer {
	if a := c.last; a != nil {
		if t := a.changes(); t == nil || now.Before(*t) {
			a.asked = now
			return a
		}
	}
	if w.moment == nil || !w.at.Equal(now) {
		w.moment, w.at = schedule.Look(w.schedules, now), now
	}
	c.last = &answer{asked: now}
	c.last.hold, c.last.closes = w.look(c, w.moment)
	return c.last
}

// look returns what schedules say to the class at that moment.
func (w *windows) look(c *class, moment *schedule.Moment) (hold fleet.Hold, closes *time.Time) {
	verdict := moment.At
	if w.ignored {
		verdict = moment.IgnoringWindows
	}
	said := verdict(c.labels, c.kind)
	if said.Open {
		return fleet.Hold{}, said.Until
	}
	return fleet.Hold{Reason: said.Reason, Message: said.Message, Until: said.Until}, nil
}

// closing notes when what was open at now, to those that asked, closes.
func (w *windows) closing(now time.Time, wake *alarm) {
	for _, c := range w.classes {
		if c.last != nil && c.last.asked.Equal(now) {
			wake.at(c.last.closes)
		}
	}
}
