package report

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// addNodes adds the nodes of the record, or of the upgrade as far as it is.
func (b *builder) addNodes() {
	records := b.recorded()
	b.report.Nodes = make([]Node, len(records))
	groupOf := b.groups()
	fleetNodes := make(map[string]*clusterstate.Node, len(b.snapshot.Nodes))
	for i := range b.snapshot.Nodes {
		fleetNodes[b.snapshot.Nodes[i].Name] = &b.snapshot.Nodes[i]
	}
	for i := range records {
		n := &b.report.Nodes[i]
		*n = b.node(&records[i])
		if one := fleetNodes[n.Name]; one != nil {
			n.ControlPlane, n.Group = one.ControlPlane, groupOf(one)
		} else if n.ControlPlane = records[i].ComponentsSeconds > 0; n.ControlPlane {
			n.Group = plan.ControlPlaneGroup
		}
		n.Parts = b.parts(&records[i], n.ControlPlane)
	}
	if !b.report.Upgrade.Ended() {
		b.addPresent()
	}
}

// recorded returns the nodes of the record. For an upgrade that has not ended, it is the
// record so far.
func (b *builder) recorded() (records []v1alpha1.NodeRecord) {
	if !b.report.Upgrade.Ended() {
		return plan.RecordSoFar(b.snapshot, b.report.Upgrade.UID, b.at)
	}
	for _, piece := range b.record {
		records = append(records, piece.Spec.Nodes...)
	}
	return records
}

// groups returns a function that returns the name of a node's group in the strategy. It is
// empty for nodes in none.
func (b *builder) groups() func(*clusterstate.Node) string {
	type group struct {
		name     string
		selector labels.Selector
	}
	var list []group
	if b.upgrade != nil {
		for _, g := range b.upgrade.Status.Strategy.Groups {
			if selector, err := g.NodeSelector.AsSelector(); err == nil {
				list = append(list, group{g.Name, selector})
			}
		}
	}
	return func(n *clusterstate.Node) string {
		if n.ControlPlane {
			return plan.ControlPlaneGroup
		}
		for _, g := range list {
			if g.selector.Matches(labels.Set(n.Labels)) {
				return g.name
			}
		}
		return ""
	}
}

func (b *builder) node(r *v1alpha1.NodeRecord) Node {
	n := Node{
		Name: r.Name, From: r.From, To: r.To, StartTime: clusterstate.Instant(r.StartTime), EndTime: clusterstate.Instant(r.EndTime),
		Attempts: r.Attempts, Reason: r.Reason, MethodMessage: r.MethodMessage, Rehearsal: r.Rehearsal.String(),
	}
	for _, step := range r.Steps {
		one := Step{Step: step.Step, Start: *clusterstate.UTC(&step.StartTime.Time)}
		if step.EndTime != nil {
			one.End = clusterstate.UTC(&step.EndTime.Time)
		}
		n.Steps = append(n.Steps, one)
	}
	n.OutOfServiceSeconds = wholeSeconds(b.outOfService(n.Steps))
	n.State = b.stateOf(n)
	return n
}

// stateOf returns how far the node is.
func (b *builder) stateOf(n Node) State {
	last := v1alpha1.StepInfo{Phase: v1alpha1.PhaseInService}
	if len(n.Steps) > 0 {
		last = n.Steps[len(n.Steps)-1].Step.Info()
	}
	byAgent := n.Reason.Info().Giver == v1alpha1.GivenByAgent && n.Reason != v1alpha1.ReasonUpgradeWithdrawn // that one, the person who deleted the upgrade
	switch {
	case n.Reason == "" && n.StartTime == nil:
		return UpToDate
	case n.Reason == "":
		return Done
	case last.Phase == v1alpha1.PhaseStopped, n.Reason == v1alpha1.ReasonAbandoned, b.report.Upgrade.Ended() && byAgent:
		return Failed
	case b.report.Upgrade.Ended():
		return NotDone
	case last.Phase == v1alpha1.PhaseInService || last.Phase == v1alpha1.PhaseUnsupported || last.Step == v1alpha1.StepUnlocking && n.Steps[len(n.Steps)-1].End != nil:
		return Waiting
	}
	return Active
}

// parts returns the measured parts with what was expected of them.
func (b *builder) parts(r *v1alpha1.NodeRecord, controlPlane bool) (list []Part) {
	reboot := b.report.Usual.WorkerSeconds
	if controlPlane {
		reboot = b.report.Usual.ControlPlaneSeconds
	}
	for _, part := range []Part{
		{Kubeadm, r.ComponentsSeconds, b.report.Usual.ComponentsSeconds},
		{Reboot, r.RebootSeconds, reboot},
		{SoftReboot, r.SoftRebootSeconds, b.report.Usual.SoftRebootSeconds},
		{Restart, r.RestartSeconds, b.report.Usual.RestartSeconds},
	} {
		if part.Seconds > 0 {
			list = append(list, part)
		}
	}
	return list
}

// State is how far a node is, in one word.
type State string

// The states.
const (
	Done     State = "Done"     // it was upgraded
	UpToDate State = "UpToDate" // nothing had to be done
	Active   State = "Active"   // it is being upgraded
	Waiting  State = "Waiting"  // it begins later
	Failed   State = "Failed"   // it began and needs a person
	NotDone  State = "NotDone"  // the upgrade ended without it
)

// Node is how one node went.
type Node struct {
	Name         string `json:"name"`
	Group        string `json:"group,omitempty"`
	ControlPlane bool   `json:"controlPlane,omitempty"`
	State        State  `json:"state"`
	From         string `json:"from,omitempty"`
	To           string `json:"to,omitempty"`
	// StartTime is when the node first took its slot, and EndTime when it was back in
	// service.
	StartTime *time.Time `json:"startTime,omitempty"`
	EndTime   *time.Time `json:"endTime,omitempty"`
	Attempts  int32      `json:"attempts,omitempty"`
	// OutOfServiceSeconds is how long the node was cordoned, over all attempts. One that was rolled back serves again.
	OutOfServiceSeconds int32  `json:"outOfServiceSeconds,omitempty"`
	Parts               []Part `json:"parts,omitempty"`
	// MethodMessage is why the node rebooted although the strategy has another method.
	MethodMessage string `json:"methodMessage,omitempty"`
	// Rehearsal is how the node's boot differed from its rehearsal, or what the guard had to do.
	Rehearsal string `json:"rehearsal,omitempty"`
	Steps     []Step `json:"steps,omitempty"`
	Waits     []Wait `json:"waits,omitempty"`
	// Reason and Message are why the node is not done, and Until is when that ends.
	Reason  v1alpha1.Reason `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
	Until   *time.Time      `json:"until,omitempty"`
	// PredictedStartTime and PredictedEndTime are the planner's, for a node that has not
	// begun.
	PredictedStartTime *time.Time `json:"predictedStartTime,omitempty"`
	PredictedEndTime   *time.Time `json:"predictedEndTime,omitempty"`
	// Calendar is the index of the node's calendar.
	Calendar int `json:"calendar"`
}

// Step is one step with its times. End is absent while the node is in it.
type Step struct {
	Step  v1alpha1.Step `json:"step"`
	Start time.Time     `json:"start"`
	End   *time.Time    `json:"end,omitempty"`
}

// PartName names a measured part of a node's upgrade.
type PartName string

// The parts.
const (
	Kubeadm    PartName = "Kubeadm"    // kubeadm's part on a control plane, from slot to slot
	Reboot     PartName = "Reboot"     // the node's part, with a reboot
	SoftReboot PartName = "SoftReboot" // the node's part, with a soft reboot
	Restart    PartName = "Restart"    // the node's part, with a restart of the kubelet
)

// Part is how long a part took, without settling and observing, and how long it was
// expected to take.
type Part struct {
	Part            PartName `json:"part"`
	Seconds         int32    `json:"seconds"`
	ExpectedSeconds int32    `json:"expectedSeconds"`
}

// Wait is a time in which a node was ready to begin and did not.
type Wait struct {
	Start   time.Time       `json:"start"`
	End     time.Time       `json:"end"`
	Reason  v1alpha1.Reason `json:"reason,omitempty"` // empty: it is not known
	Message string          `json:"message"`
	// Derived reports whether the reason was derived from the schedules and from the times
	// of other nodes, and not read from the node's object.
	Derived bool `json:"derived,omitempty"`
}

// Waited returns how long the node waited in all.
func (n Node) Waited() (total time.Duration) {
	for _, w := range n.Waits {
		total += w.length()
	}
	return total
}

func (w Wait) span() span { return span{w.Start, w.End} }

func (w Wait) length() time.Duration { return w.span().length() }

// GroupName returns the node's group for people.
func (n Node) GroupName() string { return cmp.Or(n.Group, "other nodes") }

// span is the time from start, included, to end, not included.
type span struct{ start, end time.Time }

func (s span) length() time.Duration { return s.end.Sub(s.start) }

func (s span) covers(t time.Time) bool { return !t.Before(s.start) && t.Before(s.end) }

// union merges spans that overlap or touch. The result is in order.
func union(spans []span) (merged []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.start.Compare(b.start) })
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && !s.start.After(merged[last].end) {
			merged[last].end = later(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// end returns when the upgrade ended, or for one that has not ended now.
func (b *builder) end() time.Time {
	if end := b.report.Upgrade.EndTime; end != nil {
		return *end
	}
	return b.at
}

// span returns the time of a step. One that has no end lasts until the upgrade's.
func (b *builder) span(s Step) span {
	if s.End != nil {
		return span{s.Start, later(s.Start, *s.End)}
	}
	return span{s.Start, later(s.Start, b.end())}
}

// outOfService returns how long the node was cordoned by its agent.
func (b *builder) outOfService(steps []Step) time.Duration {
	times := make([]v1alpha1.StepTime, len(steps))
	for i, step := range steps {
		times[i] = v1alpha1.StepTime{Step: step.Step, StartTime: metav1.NewMicroTime(step.Start)}
		if step.End != nil {
			times[i].EndTime = &metav1.MicroTime{Time: b.span(step).end}
		}
	}
	return v1alpha1.OutOfService(times, b.end())
}

// busy returns the times in which the node held its slot.
func (b *builder) busy(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if phase := step.Step.Info().Phase; phase == v1alpha1.PhaseRevocable || phase == v1alpha1.PhaseCommitted {
			spans = append(spans, b.span(step))
		}
	}
	return union(spans)
}

// stopped returns since when the node had failed, and until when.
func (b *builder) stopped(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if step.Step.Info().Phase == v1alpha1.PhaseStopped {
			spans = append(spans, b.span(step))
		}
	}
	return spans
}

// waiting returns the times in which the node waited.
func (b *builder) waiting(n *Node) (spans []span) {
	for _, step := range n.Steps {
		if step.Step == v1alpha1.StepWaiting {
			spans = append(spans, b.span(step))
		}
	}
	start := b.report.Upgrade.StartTime
	if len(n.Steps) == 0 && n.State != UpToDate && n.State != Done && start != nil && b.report.Upgrade.Triggered {
		spans = append(spans, span{*start, later(*start, b.end())})
	}
	return union(spans)
}
