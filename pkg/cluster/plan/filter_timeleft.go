package plan

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// timeTooShort holds a node that is not expected to be done before its window closes.
// For a node that has begun it applies only until the node has taken its slot.
func timeTooShort(c *cluster, n *node) fleet.Hold {
	need := c.expectedDuration(n)
	if n.busy() {
		if n.status.Step != v1alpha1.StepLocking || n.holdsLease() || n.spec.ExpectedSeconds == nil {
			return fleet.Hold{}
		}
		need = time.Duration(*n.spec.ExpectedSeconds) * time.Second
	}
	class := c.classOf(n)
	available := c.windows.lookup(class, c.now)
	switch {
	case available.fits(c.now, need):
		return fleet.Hold{}
	case c.brief:
		return fleet.Hold{Reason: v1alpha1.ReasonInsufficientTime}
	}
	return c.windows.tooShort(class, available, need)
}
