package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
)

// gates asks the upgrade's gate for many nodes, and as time goes on. Nodes that
// the same schedules concern get the same answer, so it is asked for once, and
// again when it may have changed.
type gates struct {
	upgrade   *v1alpha1.ClusterUpgrade
	schedules []v1alpha1.MaintenanceSchedule
	now       time.Time
	moment    *schedule.Moment // nil until somebody asks
	selectors []labels.Selector
	classes   map[classKey]*class
}

// class is the nodes that the same schedules concern, and for which the upgrade
// is of one kind, and what the gate says to them.
type class struct {
	labels map[string]string // of one of them
	kind   v1alpha1.UpgradeType
	asked  bool
	hold   fleet.Hold
	closes *time.Time // when an open gate closes, if that is known
	// tooShort is why nodes that need so long do not begin any more at now.
	tooShort map[time.Duration]fleet.Hold
}

// classKey tells classes apart: by kind, and by which schedules' selectors match.
type classKey struct {
	kind    v1alpha1.UpgradeType
	matches string
}

// changes is when the answer may change. Nil: not that anybody knows.
func (c *class) changes() *time.Time {
	if c.hold.Reason == "" {
		return c.closes
	}
	return c.hold.Until
}

func newGates(upgrade *v1alpha1.ClusterUpgrade, schedules []v1alpha1.MaintenanceSchedule, now time.Time) *gates {
	g := &gates{upgrade: upgrade, schedules: schedules, now: now, classes: map[classKey]*class{}}
	for _, s := range schedules {
		if s.Spec.NodeSelector == nil {
			continue
		}
		// One that cannot be read closes the gate for everybody, whatever
		// class they are in.
		if selector, err := s.Spec.NodeSelector.AsSelector(); err == nil {
			g.selectors = append(g.selectors, selector)
		}
	}
	return g
}

// move lets time go on.
func (g *gates) move(now time.Time) {
	g.now, g.moment = now, nil
	for _, c := range g.classes {
		c.tooShort = nil
		if t := c.changes(); t != nil && !now.Before(*t) {
			c.asked = false
		}
	}
}

// ask returns n's class with what the gate says now.
func (g *gates) ask(n *node) *class {
	if n.class == nil {
		n.class = g.classOf(n.Labels, kindFor(g.upgrade, n.runs.kubelet))
	}
	g.look(n.class)
	return n.class
}

// look brings what the gate says to c up to now.
func (g *gates) look(c *class) {
	if c.asked {
		return
	}
	if g.moment == nil {
		g.moment = schedule.Look(g.schedules, g.now)
	}
	c.hold, c.closes = g.gate(c, g.moment, g.now)
	c.asked = true
}

func (g *gates) classOf(nodeLabels map[string]string, kind v1alpha1.UpgradeType) *class {
	matches := make([]byte, len(g.selectors))
	for i, selector := range g.selectors {
		if selector.Matches(labels.Set(nodeLabels)) {
			matches[i] = 1
		}
	}
	key := classKey{kind, string(matches)}
	c := g.classes[key]
	if c == nil {
		c = &class{labels: nodeLabels, kind: kind}
		g.classes[key] = c
	}
	return c
}
