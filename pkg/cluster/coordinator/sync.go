package coordinator

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// clockPause is how soon another plan is made while the coordinator's clock is wrong.
const clockPause = 30 * time.Second

// sync makes a plan and carries it out. It returns when to do so again even if nothing
// changes.
func (c *Coordinator) sync(ctx context.Context, now time.Time) (*time.Time, error) {
	began := time.Now()
	s := c.reader.Snapshot()
	if c.clockAhead != nil {
		s.ClockAhead = c.clockAhead()
	}
	policy, policyErr := c.ensurePolicy(ctx, s)
	if policyErr == nil {
		s.Source = c.offers.follow(policy.Spec.Source)
		s.Policy = observePolicy(policy, s, c.failing, now)
	}
	reaps := c.noteHolders(s, now)
	p := c.decide(ctx, s, now)
	if s.Policy != nil {
		noteAutomatic(s.Policy, p.AutomaticHold, now)
	}
	c.metrics.Planned(metrics.State{Snapshot: s, Plan: p, Agents: c.reader.Agents}, now)
	c.restAfter(time.Since(began))
	c.readForMissing(p.Statuses)
	carryErr := c.carryOut(ctx, &s, policy, p)
	schedulesChange, scheduleErr := c.writeSchedules(ctx, s.Schedules, now)
	err := errors.Join(policyErr, carryErr, scheduleErr)
	c.noteFailures(policy, err)
	var clockAgain *time.Time
	if s.ClockAhead != 0 {
		clockAgain = ptr.To(now.Add(clockPause)) // nothing else says when the clock is right again
	}
	return earliest(p.Next, schedulesChange, reaps, clockAgain), err
}

// readForMissing has the index read again, once for each upgrade whose version it did
// not offer: the version may have been published since.
func (c *Coordinator) readForMissing(statuses []plan.UpgradeStatus) {
	for _, one := range statuses {
		reason, _ := succeeded(one.Status)
		if reason == string(v1alpha1.ReasonNotOffered) && !c.readFor[one.UID] {
			c.readFor[one.UID] = true
			c.offers.readSoon()
		}
	}
}

// carryOut writes the plan. Releases are withdrawn first. A failed write stops only the
// writes that depend on it:
//
//   - An upgrade ends once its record is there, and the policy says what nodes
//     follow that join late.
//   - A NodeUpgrade's spec names an upgrade once the upgrade's status is written, with
//     the images that were fixed.
//   - No node is released before each release and reservation is taken back that the plan
//     takes back.
func (c *Coordinator) carryOut(ctx context.Context, s *fleet.Snapshot, policy *v1alpha1.UpgradePolicy, p plan.Plan) error {
	stored := index(s.NodeUpgrades)
	withdrawErr := errors.Join(c.withdrawReleases(ctx, stored, p.Nodes), c.withdrawSlots(ctx, p.Slots.Withdraw))
	problems := []error{withdrawErr, c.keepSlots(ctx, p.Slots), c.create(ctx, p.Create)}
	unwritten, err := c.writeUpgrades(ctx, s, policy, p)
	problems = append(problems, err)
	nodes := keepSpecs(p.Nodes, stored, unwritten)
	if withdrawErr == nil {
		problems = append(problems, c.release(ctx, stored, nodes))
	}
	return errors.Join(append(problems,
		c.updateRest(ctx, stored, nodes),
		c.clearAbandoned(ctx, stored, nodes),
		c.prune(ctx, *s),
	)...)
}

// keepSpecs returns the nodes to write: if the status of an upgrade could not be
// written, its nodes keep their specs and none of them is released.
func keepSpecs(nodes []plan.NodePlan, stored map[string]*v1alpha1.NodeUpgrade, unwritten map[string]bool) []plan.NodePlan {
	if len(unwritten) == 0 {
		return nodes
	}
	var kept []plan.NodePlan
	for _, n := range nodes {
		if n.Spec.Upgrade != nil && unwritten[n.Spec.Upgrade.UID] {
			was := stored[n.Name]
			if was == nil || n.Slot != "" {
				continue
			}
			if withdraws := was.Spec.Release.Granted() && !n.Spec.Release.Granted(); !withdraws {
				n.Spec = was.Spec
			}
		}
		kept = append(kept, n)
	}
	return kept
}

func earliest(times ...*time.Time) *time.Time {
	var first *time.Time
	for _, t := range times {
		if t != nil && (first == nil || t.Before(*first)) {
			first = t
		}
	}
	return first
}
