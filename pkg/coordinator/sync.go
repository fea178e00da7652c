package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// sync makes a plan and carries it out. It returns when to look again though
// nothing changed.
func (c *Coordinator) sync(ctx context.Context, now time.Time) (*time.Time, error) {
	s := c.reader.Snapshot()
	s.Strategy = c.config.Strategy
	if offered := c.offered.Load(); offered != nil {
		s.Source = *offered
	}
	p := c.decide(ctx, s, now)
	c.seek(p.Statuses)
	schedulesChange, scheduleErr := c.writeSchedules(ctx, s.Schedules, now)
	err := errors.Join(c.carryOut(ctx, s, p), scheduleErr)
	return earliest(p.Next, schedulesChange), err
}

// carryOut writes the plan. What a later step relies on comes first, and an
// error there ends it; a node that cannot be written does not keep the others
// from being written.
func (c *Coordinator) carryOut(ctx context.Context, s plan.Snapshot, p plan.Plan) error {
	if p.Create != nil {
		if err := c.create(ctx, p.Create); err != nil {
			return err
		}
	}
	if err := c.writeStatuses(ctx, s.Upgrades, p.Statuses); err != nil {
		return err
	}
	stored := index(s.NodeUpgrades)
	if err := c.callBack(ctx, stored, p.Nodes); err != nil {
		return err
	}
	if err := c.keepSlots(ctx, p.Slots); err != nil {
		// Nobody is let go, and whoever waits is told why all the same.
		return errors.Join(fmt.Errorf("keeping slots: %w", err), c.tellOthers(ctx, stored, p.Nodes))
	}
	return errors.Join(c.letGo(ctx, stored, p.Nodes), c.tellOthers(ctx, stored, p.Nodes), c.welcome(ctx, stored, p.Nodes))
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
