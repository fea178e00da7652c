package coordinator

import (
	"context"
	"errors"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/slot"
)

// keepSlots does what the plan says about the Leases. Rebuild comes before Ensure, so
// that a Lease that was deleted while a node held it is not created again as a free
// one.
func (c *Coordinator) keepSlots(ctx context.Context, p plan.SlotPlan) error {
	if p.Rebuild {
		if err := c.slots.Rebuild(ctx, c.reader.MarkedNodes()); err != nil {
			return err
		}
	}
	var problems []error
	for _, owner := range p.Reap {
		// A cache that lags may not know a Node that has just joined.
		err := c.slots.Reap(ctx, owner)
		if errors.Is(err, slot.ErrNodeExists) {
			continue
		}
		if err == nil {
			c.log.Info("a slot was freed, as its node is gone", "node", owner.Node)
		}
		problems = append(problems, err)
	}
	for _, owner := range p.Abandon {
		c.log.Info("a slot is freed, as its node was abandoned", "node", owner.Node)
		problems = append(problems, c.slots.Abandon(ctx, owner))
	}
	for _, owner := range p.Withdraw {
		problems = append(problems, c.slots.Withdraw(ctx, owner))
	}
	if p.Ensure {
		problems = append(problems, c.slots.Ensure(ctx, p.Count))
	}
	return errors.Join(problems...)
}
