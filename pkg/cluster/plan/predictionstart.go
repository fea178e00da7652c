package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// abortDuration is how long a node is expected to take to abort its attempt.
const abortDuration = time.Minute

// newPrediction returns a prediction that starts with the planner's cluster and verdicts.
func newPrediction(decided *planner) *prediction {
	p := &prediction{cluster: decided.copied(), spans: map[string]span{}}
	if decided.target == nil || decided.target.hold.Holds() {
		p.nodes = nil
		return p
	}
	c := p.cluster
	c.medians() // computed now, while c still has all nodes
	c.brief, c.checks = true, decided.futureChecks()
	c.writeSlots(decided.slotPlan(decided.verdicts))
	for i, n := range decided.nodes {
		p.addCurrent(n, decided.verdicts[i])
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return !n.ControlPlane && !n.busy() && (!n.concerned || n.Ready && n.upToDate) })
	c.survey = c.newSurvey()
	return p
}

// futureChecks returns the checks as the prediction assumes them: a needed report arrives
// at once, and findings that are outdated or were made while a control plane was being
// upgraded disappear.
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
	c.slots = p.Apply(c.slots)
	for i := range c.budget {
		if name := fleet.SlotName(i); !slices.ContainsFunc(c.slots, func(s fleet.Slot) bool { return s.Name == name }) {
			c.slots = append(c.slots, fleet.Slot{Name: name})
		}
	}
	for i, n := range c.nodes {
		if n.lease != nil && !n.holdsLease() && slices.ContainsFunc(p.Withdraw, func(s fleet.Slot) bool { return s.Name == n.lease.Name }) {
			c.nodes[i] = c.changed(n, func(n *node) { n.lease = nil })
		}
	}
}

// addCurrent adds a node that is being upgraded already, or whose image is being staged.
func (p *prediction) addCurrent(n *node, v verdict) {
	switch {
	case n.failed() || n.abandoned != nil || n.noAgent() || p.isLost(n):
	case n.busy():
		start := passBegan(n, p.now)
		w := work{node: p.changed(n, func(n *node) { n.phase, n.NotReadySince = v1alpha1.PhaseCommitted, nil }), components: n.spec.Release == v1alpha1.ReleaseControlPlane, snapshot: n == p.snapshotNode}
		w.aborts = v.decision == Wait || !p.specIsForTarget(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(p.expected(n, n.nextPart(w.components)))}
		if w.aborts {
			w.end = p.now.Add(abortDuration)
		}
		if w.end.Before(p.now) {
			w.end = p.now
		}
		p.nodes[p.index(n.place)] = w.node
		p.addWork(w)
	case n.concerned && n.stages():
		at := p.now.Add(p.medians().of[staging])
		p.staged = &at
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
