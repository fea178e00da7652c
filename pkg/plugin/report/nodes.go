package report

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// addNodes adds the nodes of the record, or of the upgrade as far as it is.
func (b *builder) addNodes() {
	records := b.recorded()
	b.report.Nodes = make([]Node, len(records))
	groupOf := b.groups()
	fleetNodes := make(map[string]*fleet.Node, len(b.snapshot.Nodes))
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
		records = append(records, piece.Nodes...)
	}
	return records
}

// groups returns a function that returns the name of a node's group in the strategy. It is
// empty for nodes in none.
func (b *builder) groups() func(*fleet.Node) string {
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
	return func(n *fleet.Node) string {
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
		Name: r.Name, From: r.From, To: r.To, StartTime: instant(r.StartTime), EndTime: instant(r.CompletionTime),
		Attempts: r.Attempts, Reason: r.Reason, MethodMessage: r.MethodMessage,
	}
	for _, step := range r.Steps {
		one := Step{Step: step.Step, Start: *utc(&step.StartTime.Time)}
		if step.EndTime != nil {
			one.End = utc(&step.EndTime.Time)
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
	switch {
	case n.Reason == "" && n.StartTime == nil:
		return UpToDate
	case n.Reason == "":
		return Done
	case last.Phase == v1alpha1.PhaseStopped, n.Reason == v1alpha1.ReasonAbandoned, b.report.Upgrade.Ended() && n.Reason.Info().Giver == v1alpha1.GivenByAgent:
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
