package render

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// predicted returns when an upgrade is expected to end, between which instants if few nodes were measured, and
// from what that is known.
func (o Options) predicted(end time.Time, from *plan.Basis) string {
	switch {
	case from == nil:
		return o.when(end)
	case from.Nodes == 0:
		return o.when(end) + ", a guess: nothing like it was measured in this cluster"
	}
	text := o.when(end)
	if from.EarliestEnd != nil && from.LatestEnd != nil && from.LatestEnd.Sub(*from.EarliestEnd) >= time.Minute {
		text = "between " + o.minute(from.EarliestEnd) + " and " + o.when(*from.LatestEnd)
	}
	return fmt.Sprintf("%s, from %s of %s", text, amount(from.Nodes, "node"), amount(from.Upgrades, "upgrade"))
}

// amount returns a number with its noun.
func amount(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
