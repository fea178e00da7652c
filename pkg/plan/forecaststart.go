package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// abortDuration is how long a node is expected to take to abort its attempt.
const abortDuration = time.Minute

// newForecast returns a forecast that starts with the planner's cluster and verdicts.
func newPrediction(p *planner) *prediction {
	f := &prediction{cluster: p.copied(), spans: map[string]span{}}
	if p.target == nil || p.target.hold.Holds() {
		f.nodes = nil
		return f
	}
	c := f.cluster
	c.medians() // while all nodes are there
	c.brief, c.checks = true, p.futureChecks()
	c.writeSlots(p.slotPlan(p.verdicts))
	for i, n := range p.nodes {
		f.addCurrent(n, p.verdicts[i])
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return !n.ControlPlane && !n.busy() && (!n.concerned || n.Ready && n.upToDate) })
	c.survey = c.newSurvey()
	return f
}

// futureChecks returns the checks as the forecast assumes them: a needed report arrives
// at once, and findings that are outdated or were made while a control plane was at
// work disappear.
func (c *cluster) futureChecks() checks {
	k := c.checks
	if c.busyControlPlane != nil || !k.current() {
		k.blockAll = nil
	}
	k.key = ""
	return k
}

// writeSlots applies the slot plan as the coordinator does: it creates missing slots,
// and frees those of owners that may not keep them.
func (c *cluster) writeSlots(p SlotPlan) {
	there := map[string]bool{}
	for i := range c.slots {
		slot := &c.slots[i]
		there[slot.Name] = true
		for _, freed := range [][]fleet.Owner{p.Reap, p.Abandon, p.Withdraw} {
			if slices.Contains(freed, slot.Holder) || slot.Holder == (fleet.Owner{}) && slices.Contains(freed, slot.ReservedFor) {
				slot.Holder, slot.ReservedFor = fleet.Owner{}, fleet.Owner{}
			}
		}
	}
	for i := range c.budget {
		if name := fleet.SlotName(i); !there[name] {
			c.slots = append(c.slots, fleet.Slot{Name: name})
		}
	}
	for i, n := range c.nodes {
		if n.lease != nil && !n.holdsLease() && slices.Contains(p.Withdraw, n.Owner()) {
			c.nodes[i] = c.changed(n, func(n *node) { n.lease = nil })
		}
	}
}

// addCurrent adds a node that is at work already, or whose image is being staged.
func (f *prediction) addCurrent(n *node, v verdict) {
	switch {
	case n.failed() || n.abandoned != nil || n.unsupported() || f.isLost(n):
	case n.busy():
		start := passBegan(n, f.now)
		w := work{node: f.changed(n, func(n *node) { n.phase, n.NotReadySince = v1alpha1.PhaseCommitted, nil }), components: n.spec.Release == v1alpha1.ReleaseControlPlane, snapshot: n == f.snapshotNode}
		w.aborts = v.decision == Wait || !f.specIsForTarget(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(f.expected(n, n.nextPart(w.components)))}
		if w.aborts {
			w.end = f.now.Add(abortDuration)
		}
		if w.end.Before(f.now) {
			w.end = f.now
		}
		f.nodes[f.index(n.place)] = w.node
		f.addWork(w)
	case n.concerned && n.stages():
		at := f.now.Add(f.medians().of[staging])
		f.staged = &at
	}
}

// passBegan returns when a busy node took its slot.
func passBegan(n *node, now time.Time) time.Time {
	for _, step := range slices.Backward(n.status.Steps) {
		if step.Step == v1alpha1.StepLocking {
			return step.StartTime.Time
		}
	}
	if n.status.StepStartTime != nil {
		return n.status.StepStartTime.Time
	}
	return now
}
