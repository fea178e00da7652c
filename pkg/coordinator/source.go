package coordinator

import (
	"context"
	"reflect"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// look reads the index, and has a plan made when it says something new.
func (c *Coordinator) look(ctx context.Context) {
	found := c.poller.Look(ctx)
	if ctx.Err() != nil {
		return
	}
	before := c.offered.Swap(&found)
	if before != nil && reflect.DeepEqual(*before, found) {
		return
	}
	c.tellSource(found)
	c.queue.Add(everything)
}

func (c *Coordinator) tellSource(s plan.Source) {
	versions := map[string]bool{}
	for _, offer := range s.Offers {
		versions[offer.Version] = true
	}
	if s.Trouble.Reason != "" {
		c.log.Warn("the source has a problem", "reason", s.Trouble.Reason, "message", s.Trouble.Message, "versions", len(versions))
		return
	}
	c.log.Info("the source was read", "versions", len(versions), "images", len(s.Offers))
}
