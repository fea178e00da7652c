package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// clockDiffers holds a node whose clock, or every node while the coordinator's clock, differs from
// the API server's: each judges windows by its own.
func clockDiffers(c *cluster, n *node) fleet.Hold {
	if hold := ClockHold("the coordinator", c.ClockAhead); hold.Holds() || n.facts == nil {
		return hold
	}
	return ClockHold("this node", time.Duration(n.facts.ClockAheadSeconds)*time.Second)
}

// ClockHold returns the hold for a clock that is ahead of the API server's, or behind it if ahead
// is less than zero. Zero: it is right.
func ClockHold(whose string, ahead time.Duration) fleet.Hold {
	side := "ahead of"
	switch {
	case ahead == 0:
		return fleet.Hold{}
	case ahead < 0:
		side, ahead = "behind", -ahead
	}
	message := fmt.Sprintf("the clock of %s is %s %s the API server's, and windows are judged by it: set it, and check its time synchronization", whose, ahead.Round(10*time.Second), side)
	return fleet.Hold{Reason: v1alpha1.ReasonClockDiffers, Message: message}
}
