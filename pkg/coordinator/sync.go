package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// sync makes a plan and carries it out. It returns when to do so again though
// nothing changed.
func (c *Coordinator) sync(ctx context.Context, now time.Time) (*time.Time, error) {
	s := c.reader.Snapshot()
	policy, err := c.ensurePolicy(ctx, s.Policy)
	if err != nil {
		return nil, err
	}
	s.Source = c.offers.follow(policy.Spec.Source)
	s.Policy = observePolicy(policy, s, now)
	p := c.decide(ctx, s, now)
	c.readForMissing(p.Statuses)
	schedulesChange, scheduleErr := c.writeSchedules(ctx, s.Schedules, now)
	err = errors.Join(c.carryOut(ctx, s, policy, p), scheduleErr)
	return earliest(p.Next, schedulesChange), err
}

// readForMissing has the index read anew, once for each upgrade whose version it
// did not offer: the version may have been published since.
func (c *Coordinator) readForMissing(statuses []plan.UpgradeStatus) {
	for _, one := range statuses {
		reason, _ := succeeded(one.Status)
		if reason == string(v1alpha1.ReasonNotOffered) && !c.readFor[one.UID] {
			c.readFor[one.UID] = true
			c.offers.readSoon()
		}
	}
}

// carryOut writes the plan. What a later step relies on comes first, and an error
// there ends it; a node that cannot be written does not keep the others from being
// written.
func (c *Coordinator) carryOut(ctx context.Context, s fleet.Snapshot, policy *v1alpha1.UpgradePolicy, p plan.Plan) error {
	if p.Create != nil {
		if err := c.create(ctx, p.Create); err != nil {
			return err
		}
	}
	if err := c.createRecords(ctx, p.Records); err != nil {
		return err
	}
	if err := c.writePolicyStatus(ctx, policy, s.Policy.Status, p.Policy); err != nil {
		return err
	}
	if err := c.writeStatuses(ctx, s.Upgrades, p.Statuses); err != nil {
		return err
	}
	stored := index(s.NodeUpgrades)
	if err := c.withdrawReleases(ctx, stored, p.Nodes); err != nil {
		return err
	}
	if err := c.keepSlots(ctx, p.Slots); err != nil {
		// No node is released, and the others are told why they wait all the same.
		return errors.Join(fmt.Errorf("keeping slots: %w", err), c.updateRest(ctx, stored, p.Nodes))
	}
	return errors.Join(
		c.release(ctx, stored, p.Nodes),
		c.updateRest(ctx, stored, p.Nodes),
		c.clearAbandoned(ctx, stored, p.Nodes),
		c.prune(ctx, s),
	)
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
