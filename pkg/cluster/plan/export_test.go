package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// CheckReasons makes a filter or claim panic if it answers with a reason that its row does
// not name: docs/planning.md would be wrong.
func CheckReasons() {
	for i, f := range filters {
		check := func(hold fleet.Hold) fleet.Hold {
			f.mustAnswer(hold, f.agents && (len(f.reasons) == 0 || hold.Reason.Info().Giver == v1alpha1.GivenByAgent))
			return hold
		}
		if f.node != nil {
			filters[i].node = func(c *cluster, n *node) fleet.Hold { return check(f.node(c, n)) }
		} else {
			filters[i].all = func(s *survey, n *node) fleet.Hold { return check(f.all(s, n)) }
		}
	}
	for i, one := range claims {
		claims[i].hold = func(a *allocation, n *node) fleet.Hold {
			hold := one.hold(a, n)
			one.mustAnswer(hold, false)
			return hold
		}
	}
}

func (q question) mustAnswer(hold fleet.Hold, agents bool) {
	if hold.Holds() && !agents && !slices.Contains(q.reasons, hold.Reason) {
		panic(fmt.Sprintf("the row %q does not name the reason %s", q.text, hold.Reason))
	}
}

// QuestionRows returns a line of a Markdown list for each filter and claim.
func QuestionRows() string {
	var rows strings.Builder
	row := func(q question, agents bool) {
		names := make([]string, len(q.reasons))
		for i, reason := range q.reasons {
			names[i] = "`" + string(reason) + "`"
		}
		switch {
		case agents && len(names) == 0:
			names = append(names, "the one that the node's agent gives")
		case agents:
			names = append(names, "or the one that the node's agent gives")
		}
		fmt.Fprintf(&rows, "1. %s %s\n", q.text, strings.Join(names, ", "))
	}
	for _, f := range filters {
		row(f.question, f.agents)
	}
	for _, c := range claims {
		row(c.question, false)
	}
	return rows.String()
}

// Median is median.
var Median = median
