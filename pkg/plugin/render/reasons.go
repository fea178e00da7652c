package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// maxReasons is how many different reasons are shown in full.
const maxReasons = 5

// reasonRows returns in full what the lines of the table have no room for: what holds
// nodes up, one entry for all that have the same reason, and on a narrow terminal what
// the active nodes do.
func reasonRows(p view.Progress, o Options) [][2]cell {
	var rows [][2]cell
	add := func(title string, c color, of func(view.NodeProgress) bool) {
		entries := progressReasons(p, o, of)
		if len(entries) > maxReasons {
			entries = append(entries[:maxReasons-1], fmt.Sprintf("and %d more reasons; `kubectl upgrade status` has them all", len(entries)-maxReasons+1))
		}
		for _, entry := range entries {
			rows = append(rows, titled(title, cell{entry, c}))
			title = ""
		}
	}
	add("Blocked:", red, heldUp)
	if o.narrow() {
		add("Active:", plain, func(n view.NodeProgress) bool { return n.State == view.StateActive && !heldUp(n) })
	}
	return rows
}

// reasons returns the different sentences of such nodes, with the nodes' names. One that
// the upgrade's message contains already is left out.
func progressReasons(p view.Progress, o Options, of func(view.NodeProgress) bool) []string {
	var order []string
	nodes := map[string][]string{}
	for _, n := range p.Nodes {
		why := progressWhy(n, o)
		if !of(n) || why == "" || n.Message != "" && strings.Contains(p.Upgrade.Message, n.Message) {
			continue
		}
		if nodes[why] == nil {
			order = append(order, why)
		}
		nodes[why] = append(nodes[why], n.Name)
	}
	for i, why := range order {
		order[i] = view.Few(nodes[why]) + ": " + why
	}
	return order
}

// upgradeSays reports whether the lines above a table of nodes show this reason already, as the one of
// the whole upgrade: the table then has its code alone. On a terminal they show it, too, where they quote it.
func (o Options) upgradeSays(u *view.Upgrade, reason v1alpha1.Reason, message string) bool {
	if u == nil || message == "" {
		return false
	}
	quoted := o.Width > 0 && reason != "" && textWidth(message) > narrowest && strings.Contains(u.Message, message)
	return quoted || u.Reason == reason && u.Message == message
}

// heldUp reports whether the node waits for more than its turn.
func heldUp(n view.NodeProgress) bool {
	switch n.State {
	case view.StateFailed:
		return true
	case view.StateActive:
		return n.Reason == v1alpha1.ReasonDrainBlocked || n.Reason == v1alpha1.ReasonNodeNotBack || n.Step == v1alpha1.StepAborting
	case view.StateWaiting:
		return n.Reason != "" && !n.Reason.Info().Routine
	}
	return false
}
