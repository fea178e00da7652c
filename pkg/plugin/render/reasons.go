package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// maxReasons is how many different reasons are shown in full.
const maxReasons = 5

// reasonRows returns in full what the lines of the table have no room for: what holds
// nodes up, one entry for all that have the same reason, and on a narrow terminal what
// the active nodes do.
func (p Progress) reasonRows(o Options) [][2]cell {
	var rows [][2]cell
	add := func(title string, c color, of func(NodeProgress) bool) {
		entries := p.reasons(o, of)
		if len(entries) > maxReasons {
			entries = append(entries[:maxReasons-1], fmt.Sprintf("and %d more reasons; `kubectl upgrade status` has them all", len(entries)-maxReasons+1))
		}
		for _, entry := range entries {
			rows = append(rows, titled(title, cell{entry, c}))
			title = ""
		}
	}
	add("Blocked:", red, func(n NodeProgress) bool { return n.heldUp() })
	if o.narrow() {
		add("Active:", plain, func(n NodeProgress) bool { return n.State == StateActive && !n.heldUp() })
	}
	return rows
}

// reasons returns the different sentences of such nodes, with the nodes' names. One that
// the upgrade's message contains already is left out.
func (p Progress) reasons(o Options, of func(NodeProgress) bool) []string {
	var order []string
	nodes := map[string][]string{}
	for _, n := range p.Nodes {
		why := n.why(o)
		if !of(n) || why == "" || n.Message != "" && strings.Contains(p.Upgrade.Message, n.Message) {
			continue
		}
		if nodes[why] == nil {
			order = append(order, why)
		}
		nodes[why] = append(nodes[why], n.Name)
	}
	for i, why := range order {
		order[i] = Few(nodes[why]) + ": " + why
	}
	return order
}

// says reports whether the lines above a table of nodes show this reason already, as the one of
// the whole upgrade: the table then has its code alone.
func (u *Upgrade) says(reason v1alpha1.Reason, message string) bool {
	return u != nil && message != "" && u.Reason == reason && u.Message == message
}

// mostNames is how many names Few returns.
const mostNames = 3

// Few returns the first names, such as "w-1, w-2, w-3 and 17 more".
func Few(names []string) string {
	if len(names) <= mostNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
}

// heldUp reports whether the node waits for more than its turn.
func (n NodeProgress) heldUp() bool {
	switch n.State {
	case StateFailed:
		return true
	case StateActive:
		return n.Reason == v1alpha1.ReasonDrainBlocked || n.Reason == v1alpha1.ReasonNodeNotBack || n.Step == v1alpha1.StepAborting
	case StateWaiting:
		return n.Reason != "" && !n.Reason.Info().Routine
	}
	return false
}
