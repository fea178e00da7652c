package coordinator

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
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

// seek looks at the index anew, once for each upgrade whose version it did not
// offer: whoever asks for a release may have seen it there a moment ago.
func (c *Coordinator) seek(statuses []plan.UpgradeStatus) {
	for _, one := range statuses {
		succeeded := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionSucceeded)
		if succeeded == nil || succeeded.Reason != string(v1alpha1.ReasonNotOffered) || c.sought[one.Name] {
			continue
		}
		c.sought[one.Name] = true
		select {
		case c.missed <- struct{}{}:
		default: // it is looked at already
		}
	}
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
