package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// planner makes a Plan. newPlanner decides, and the methods turn into a Plan what it
// decided: the cluster, the queue and the verdicts.
type planner struct {
	*cluster
	queue    queue
	verdicts []verdict
	missing  bool // a node waits only for a preflight report
	wake     wakeTime
}

// newPlanner reads the snapshot, chooses the active upgrade, and decides for each node.
func newPlanner(s *fleet.Snapshot, now time.Time) *planner {
	p := &planner{wake: wakeTime{now: now}}
	r := read(s, now)
	p.queue = r.newQueue(&p.wake)
	p.cluster = newCluster(r, p.queue.planned)
	p.verdicts, p.missing = decide(p.cluster)
	return p
}

// plan returns the decision as a Plan.
func (p *planner) plan() Plan {
	out := Plan{APIVersion: v1alpha1.GroupVersion.String(), Kind: Kind, Nodes: make([]NodePlan, 0, len(p.nodes))}
	out.Create = p.automatic(p.queue, &p.wake)
	out.AutomaticHold = p.automaticHold
	if p.target != nil {
		out.Upgrade, out.Version = p.target.Name, p.target.Spec.Version
	}
	for i, n := range p.nodes {
		out.Nodes = append(out.Nodes, p.nodePlan(n, p.verdicts[i]))
	}
	out.NeedsPreflight, out.PreflightKey = p.needsChecks(p.missing), p.checks.key
	if p.checks.lastReport != nil {
		out.Findings = p.checks.lastReport.Findings
	}
	p.addStatuses(&out)
	if p.target != nil {
		out.Target = p.target.ClusterUpgrade
	}
	out.Slots = p.slotPlan(p.verdicts)
	out.Next = p.next(out.Nodes)
	return out
}

// next returns the earliest instant after now at which the plan may change by itself.
func (p *planner) next(nodes []NodePlan) *time.Time {
	for i := range nodes {
		p.wake.at(nodes[i].Until)
	}
	for _, n := range p.nodes {
		p.wake.at(p.lostAt(n))
		if n.open {
			p.wake.at(n.stuckAt())
		}
	}
	for _, m := range p.RebootManagers {
		if m.Since != nil {
			overdue := m.Since.Add(lockLimit)
			p.wake.at(&overdue)
		}
	}
	p.windows.closing(p.now, &p.wake)
	if p.checks.blocks && !p.target.hold.Holds() {
		again := p.checks.lastReport.At.Add(recheckAfter)
		p.wake.at(&again)
	}
	return p.wake.next
}
