package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// givingUp is how long a node is expected to need that was called back.
const givingUp = time.Minute

// newForecast begins with the cluster as it was decided for.
func newForecast(p *planner) *forecast {
	f := &forecast{cluster: p.copied(), spans: map[string]span{}}
	if p.target == nil || p.target.hold.Holds() {
		f.nodes = nil
		return f
	}
	c := f.cluster
	c.usual() // while all nodes are there
	c.brief, c.checks = true, p.foreseenChecks()
	c.writeSlots(p.slotPlan(p.verdicts))
	for i, n := range p.nodes {
		f.takeUp(n, p.verdicts[i])
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return !n.ControlPlane && !n.busy() && (!n.concerned || n.Ready && n.upToDate) })
	c.survey = c.look()
	return f
}

// foreseenChecks returns the checks as they stay. A report is made whenever one is
// needed; and what was found while a control plane was at work, or for how far the
// upgrade was before, does not last.
func (c *cluster) foreseenChecks() checks {
	k := c.checks
	if c.busyControlPlane != nil || !k.current() {
		k.whole = nil
	}
	k.key = ""
	return k
}

// writeSlots does what the coordinator does about the Leases: those that are missing
// are made, and the slots of owners that may not go are freed.
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
		if n.slot != nil && !n.holdsSlot() && slices.Contains(p.Withdraw, n.Owner()) {
			c.nodes[i] = c.changed(n, func(n *node) { n.slot = nil })
		}
	}
}

// takeUp takes a node as it is: at work already, or on its way to be staged.
func (f *forecast) takeUp(n *node, v verdict) {
	switch {
	case n.failed() || n.abandoned != nil || n.unsupported() || f.isLost(n):
	case n.busy():
		start := passBegan(n, f.now)
		w := work{node: f.changed(n, func(n *node) { n.phase, n.NotReadySince = v1alpha1.PhaseCommitted, nil }), components: n.spec.Release == v1alpha1.ReleaseControlPlane, snapshot: n == f.snapshotNode}
		w.givesUp = v.decision == Wait || !f.orders(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(f.expected(n, n.nextPart(w.components)))}
		if w.givesUp {
			w.end = f.now.Add(givingUp)
		}
		if w.end.Before(f.now) {
			w.end = f.now
		}
		f.nodes[f.index(n.place)] = w.node
		f.begin(w)
	case n.concerned && n.stages():
		at := f.now.Add(f.usual().of[staging])
		f.staged = &at
	}
}

// passBegan returns when a node that is at work took its slot.
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
