package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
)

// abandonedTimeout limits the reads of checkAbandoned. The only API server may be down
// already, on the very node that is to reboot.
const abandonedTimeout = 5 * time.Second

// checkAbandoned returns an error if a person has abandoned the node. A node that hung after
// its last check may have stale watches, and must not reboot then. If the API server does
// not answer, the node finishes its attempt.
func (a *Agent) checkAbandoned(ctx context.Context, o machine.Observation) error {
	ctx, cancel := context.WithTimeout(ctx, abandonedTimeout)
	defer cancel()
	released, err := a.stillReleased(ctx, o)
	if err != nil || released.Reason == "" && o.Spec.Release.Granted() {
		return nil
	}
	node := a.node()
	if node == nil {
		return nil
	}
	held, err := a.slots.Held(ctx, ownerOf(node))
	if err != nil || held != "" {
		return nil
	}
	return fmt.Errorf("not rebooting: %s, and the slot is gone (%s)", cmp.Or(released.Message, "the release was withdrawn"), v1alpha1.ReasonAbandoned)
}
