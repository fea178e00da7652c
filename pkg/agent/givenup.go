package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/machine"
)

// lookWithin is how long the API server may take to say that a node was given
// up: the only one may be gone already, with the node that is to reboot.
const lookWithin = 5 * time.Second

// givenUp keeps a node from rebooting that hung after its last check, was given
// up by a person meanwhile, and does not know it: its watches tell of the time
// before. Where the API server does not answer, the node finishes what it began.
func (a *Agent) givenUp(ctx context.Context, o machine.Observation) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	released, err := a.stillReleased(ctx, o)
	if err != nil || released.Reason == "" {
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
	return fmt.Errorf("not rebooting: %s, and the slot is gone (%s)", released.Message, v1alpha1.ReasonAbandoned)
}
