package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Predict returns the plan of Decide with the times at which each node is expected to
// begin and to be done, across future windows. It simulates the upgrade: it repeats the
// decisions at each instant at which one may change, while every node takes as long as
// this cluster's nodes took before. What people will do is not known (repair a failed
// node, resume an upgrade): nodes that wait for that get no prediction.
func Predict(s clusterstate.Snapshot, now time.Time) Plan {
	decided := newPlanner(&s, now)
	p := decided.plan()
	future := newPrediction(decided, decided.cluster.durations)
	future.run()
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if span, ok := future.spans[n.Name]; ok {
			n.PredictedStart, n.PredictedEnd = &span.start, &span.end
		}
	}
	p.PredictedStart, p.PredictedEnd = future.startAndEnd()
	p.addBasis(decided, future.used)
	p.Pass1 = future.pass1
	return p
}

// startAndEnd returns the first start and the last end; no end if a node is not upgraded.
// Once every node is up to date, the prediction waits only for running work, so it stops
// at the last end, which may be that of kubeadm's part or of an aborted attempt.
func (p *prediction) startAndEnd() (start, end *time.Time) {
	if p.begins.IsZero() {
		return nil, nil
	}
	for _, n := range p.cluster.nodes {
		if n.concerned && !n.upToDate {
			return &p.begins, nil
		}
	}
	return &p.begins, &p.cluster.now
}

// maxIdle is after how many instants without a start the prediction gives up.
const maxIdle = 500

// prediction simulates the upgrade: at each instant it decides for the cluster as it will
// be then, and derives the next cluster.
type prediction struct {
	cluster *cluster
	survey  *survey
	working []work
	spans   map[string]span // of pass 2, or of the renewal of certificates, by node
	begins  time.Time       // of the first node, pass 1 included; zero: no node begins
	staged  *time.Time      // when the images that are being staged will be there
	pass1   *Pass
	used    [parts]bool // whose durations the times come from
	idle    int         // instants since a node last began
}

type span struct{ start, end time.Time }

// work is a node that is out of service, or on which kubeadm runs.
type work struct {
	*node
	span
	components bool // pass 1
	snapshot   bool // with a snapshot of etcd
	aborts     bool
}

// run goes from one instant to the next at which a decision may change, until there is
// none. It ends, because each node begins at most once in each pass, and after maxIdle
// instants without a start it gives up.
func (p *prediction) run() {
	for len(p.cluster.nodes) > 0 && p.idle < maxIdle {
		begun, wake := p.releaseNodes()
		next := p.nextInstant(wake)
		if next == nil {
			return
		}
		p.cluster = p.after(begun, *next)
		p.survey = newSurvey(p.cluster)
	}
}

// releaseNodes decides as Decide does, until the budget is used up. It returns the
// nodes that begin, and when a decision may change.
func (p *prediction) releaseNodes() (begun []work, wake wakeTime) {
	p.idle++
	wake.now = p.cluster.now
	a := newAllocation(p.survey, turns{}, &wake)
	for _, n := range p.cluster.candidates {
		if a.full() && len(a.cordoned) == 0 {
			break
		}
		if a.full() && !slices.Contains(a.cordoned, n) {
			continue
		}
		if _, done := p.spans[n.Name]; done {
			continue
		}
		slot, hold := a.admit(n)
		if hold.Holds() {
			wake.at(hold.Until)
			continue
		}
		w := work{node: p.asBegun(n, slot), components: p.survey.pass1, snapshot: n == p.survey.snapshotNode}
		w.span = span{p.cluster.now, p.cluster.now.Add(p.survey.expectedDuration(n))}
		begun = append(begun, w)
		p.addWork(w)
	}
	return begun, wake
}

// asBegun returns the node as it is once it has begun with that slot.
func (p *prediction) asBegun(n *node, slot string) *node {
	reference, spec := p.cluster.target.Reference(), *n.spec
	spec.Upgrade, spec.Release, spec.Slot, spec.Kubeadm = &reference, p.survey.releaseNow(), slot, p.survey.kubeadm(n)
	return p.cluster.changed(n, func(n *node) {
		n.spec, n.phase = &spec, v1alpha1.PhaseCommitted
		n.lease = &clusterstate.Slot{Name: slot, ReservedFor: n.Owner(), Holder: n.Owner()}
	})
}

// addWork adds a node that goes out of service, or is.
func (p *prediction) addWork(w work) {
	p.idle = 0
	if p.begins.IsZero() || w.start.Before(p.begins) {
		p.begins = w.start
	}
	p.working = append(p.working, w)
	if w.aborts {
		return
	}
	if p.used[w.nextPart(w.components && w.ControlPlane)] = true; p.cluster.target.inOneTurn(w.node) {
		p.used[components], p.used[w.nextPart(false)] = true, true
	}
	if !w.components {
		return
	}
	if p.pass1 == nil {
		p.pass1 = &Pass{Start: w.start, End: w.end}
	}
	if w.start.Before(p.pass1.Start) {
		p.pass1.Start = w.start
	}
	if w.end.After(p.pass1.End) {
		p.pass1.End = w.end
	}
	p.pass1.Nodes = append(p.pass1.Nodes, w.Name)
}

// nextInstant returns when something happens next: a node is done, images are staged, a
// window opens or closes, a node retries.
func (p *prediction) nextInstant(wake wakeTime) *time.Time {
	next := wake.next
	consider := func(t *time.Time) {
		if t != nil && (next == nil || t.Before(*next)) {
			next = t
		}
	}
	for i := range p.working {
		consider(&p.working[i].end)
	}
	consider(p.staged)
	return next
}

// abortDuration is how long a node is expected to take to abort its attempt.
const abortDuration = time.Minute

// newPrediction returns a prediction that starts with the planner's cluster and verdicts, in which nodes take that long.
func newPrediction(decided *planner, took durations) *prediction {
	p := &prediction{cluster: decided.cluster.copied(), survey: decided.survey, spans: map[string]span{}}
	c := p.cluster
	c.durations = took
	if c.target == nil || c.target.hold.Holds() || c.turns.failedHold().Holds() {
		c.nodes = nil
		return p
	}
	c.brief, c.checks, c.gates, c.turns = true, decided.survey.futureChecks(), c.askedGates(), turns{}
	c.writeSlots(decided.cluster.slotPlan(decided.verdicts))
	for i, n := range decided.cluster.nodes {
		p.addCurrent(n, decided.verdicts[i])
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool {
		return !n.ControlPlane && !n.busy() && (!n.concerned || n.Ready && n.upToDate && !n.Cordoned)
	})
	p.survey = newSurvey(c)
	return p
}

// futureChecks returns the checks as the prediction assumes them: a needed report arrives
// at once, and findings that are outdated or were made while a control plane was being
// upgraded disappear.
func (s *survey) futureChecks() checks {
	k := s.cluster.checks
	if s.busyControlPlane != nil || !k.current() {
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
		if name := clusterstate.SlotName(i); !slices.ContainsFunc(c.slots, func(s clusterstate.Slot) bool { return s.Name == name }) {
			c.slots = append(c.slots, clusterstate.Slot{Name: name})
		}
	}
	for i, n := range c.nodes {
		if n.lease != nil && !n.holdsLease() && slices.ContainsFunc(p.Withdraw, func(s clusterstate.Slot) bool { return s.Name == n.lease.Name }) {
			c.nodes[i] = c.changed(n, func(n *node) { n.lease = nil })
		}
	}
}

// addCurrent adds a node that is being upgraded already, or whose image is being staged.
func (p *prediction) addCurrent(n *node, v verdict) {
	switch {
	case n.failed() || n.abandoned != nil || n.noAgent() || p.cluster.isLost(n) || n.agentGone(p.cluster.now):
	case n.busy():
		start := passBegan(n, p.cluster.now)
		w := work{node: p.cluster.changed(n, func(n *node) { n.phase, n.NotReadySince = v1alpha1.PhaseCommitted, nil }),
			components: n.spec.Release == v1alpha1.ReleaseControlPlane, snapshot: n == p.survey.snapshotNode}
		w.aborts = v.decision == Wait || !p.cluster.specIsForTarget(n) || n.status.Step == v1alpha1.StepAborting
		w.span = span{start, start.Add(p.cluster.expected(n, n.nextPart(w.components)))}
		if w.aborts {
			w.end = p.cluster.now.Add(abortDuration)
		}
		for _, earliest := range []time.Time{p.cluster.now, drainLimit(n)} {
			if w.end.Before(earliest) {
				w.end = earliest
			}
		}
		p.cluster.nodes[p.cluster.index(n.place)] = w.node
		p.addWork(w)
	case n.concerned && n.stages():
		at := p.cluster.now.Add(p.cluster.durations[staging])
		p.staged = &at
	}
}

// drainLimit returns until when a drain that is blocked may take. Zero: the node's is not.
func drainLimit(n *node) time.Time {
	last := len(n.status.Steps) - 1
	if n.cause.Reason != v1alpha1.ReasonDrainBlocked || last < 0 {
		return time.Time{}
	}
	limit := cmp.Or(n.spec.Drain.TimeoutSeconds, v1alpha1.DefaultStrategy().Drain.TimeoutSeconds)
	return n.status.Steps[last].StartTime.Add(clusterstate.Seconds(limit))
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

// after returns the cluster as it will be at that instant: nodes that have begun are
// out of service, nodes whose work has ended are back. Unchanged nodes are shared
// between the two clusters.
func (p *prediction) after(begun []work, now time.Time) *cluster {
	c := p.cluster.copied()
	c.now, c.held = now, c.target.peopleHold(now)
	c.begun = c.begun || len(begun) > 0
	for _, w := range begun {
		c.nodes[p.cluster.index(w.place)] = w.node
		c.setSlot(*w.lease)
	}
	p.working = slices.DeleteFunc(p.working, func(w work) bool {
		due := !w.end.After(now)
		if due {
			p.finish(c, w)
		}
		return due
	})
	if p.staged != nil && !now.Before(*p.staged) {
		p.staged = nil
		c.stage()
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n *node) bool { return n == nil })
	return c
}

// finish brings a node back into service in the next cluster c. A worker that is done
// is removed from it.
func (p *prediction) finish(c *cluster, w work) {
	if w.lease != nil {
		c.setSlot(clusterstate.Slot{Name: w.lease.Name})
	}
	if !w.aborts && (!w.components || c.target.certificates) {
		p.spans[w.Name] = w.span
	}
	c.snapshotTaken = c.snapshotTaken || w.snapshot && !w.aborts
	i := p.cluster.index(w.place)
	c.nodes[i] = c.changed(w.node, func(n *node) { w.bringBack(n, c.target) })
	switch n := c.nodes[i]; {
	case n.ControlPlane:
		c.bringBackPods(n)
	case n.upToDate && !n.Cordoned || !n.concerned:
		c.nodes[i] = nil
	}
}

// bringBack changes the node to its state after the work.
func (w work) bringBack(n *node, t *target) {
	spec := *n.spec
	spec.Release, spec.Slot = v1alpha1.ReleaseNone, ""
	n.spec, n.lease, n.phase, n.Node.SlotAnnotation, n.tookSlot, n.Ready = &spec, nil, v1alpha1.PhaseInService, "", false, true
	switch {
	case w.aborts:
	case t.certificates:
		n.status = t.renewed(n.status)
	case w.components:
		n.runs.kubeadm, n.runs.controlPlane = &t.to, &t.to
	case t.reboot:
		n.status, n.BootID = rebooted(n.status), ""
	default:
		n.runs.kubelet = &t.to
		if t.inOneTurn(n) {
			n.runs.kubeadm, n.runs.controlPlane = &t.to, &t.to
		}
	}
}
