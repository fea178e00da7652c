package render

import (
	"cmp"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
)

// gateRows returns a line for each gate.
func gateRows(gates []plan.GateAnswer, o Options) [][2]cell {
	var rows [][2]cell
	for i, g := range gates {
		title := ""
		if i == 0 {
			title = "Gates:"
		}
		rows = append(rows, titled(title, gateLine(g, o)))
	}
	return rows
}

// gateLine returns a gate with its last answer, such as "alerts: Closed for 3m, asked 8s ago; the
// query returns 1 result".
func gateLine(g plan.GateAnswer, o Options) cell {
	text, paint := g.Name+": "+cmp.Or(string(g.State), "not asked yet"), plain
	switch g.State {
	case v1alpha1.GateOpen:
		paint = green
	case v1alpha1.GateUnknown:
		paint = yellow
	}
	if g.Since != nil && g.Asked != nil {
		text += " for " + o.age(g.Since) + ", asked " + o.age(g.Asked) + " ago"
	}
	if g.Ignored {
		text, paint = text+", ignored", plain
	}
	if g.Message != "" {
		text += "; " + o.said(g.Message)
	}
	return cell{text, paint}
}

// ignoredRows returns the line of what an upgrade ignores, such as "bare-pod (batch jobs), gate
// alerts (known) by alice".
func ignoredRows(checks []v1alpha1.IgnoredCheck, gates []v1alpha1.IgnoredGate) [][2]cell {
	var texts []string
	add := func(name, reason, by string) {
		if reason != "" {
			name += " (" + reason + ")"
		}
		if by != "" {
			name += " by " + by
		}
		texts = append(texts, name)
	}
	for _, check := range checks {
		add(check.ID, check.Comment, check.By)
	}
	for _, gate := range gates {
		add("gate "+gate.Name, gate.Comment, gate.By)
	}
	if len(texts) == 0 {
		return nil
	}
	return [][2]cell{titled("Ignored:", cell{strings.Join(texts, ", "), yellow})}
}
