package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// planRow is a node of a plan, or several that follow each other and differ in nothing but their names.
type planRow struct {
	first int // the number of the first in the order; 0: it has none
	names []string
	cells []cell // but the number and the name
	nodes []plan.NodePlan
}

// planRows returns the rows of the nodes that are shown, and how many nodes those are. Nodes that are not part of the upgrade
// have no number, and come last. On a terminal nodes that are told the same share a row.
func planRows(p plan.Plan, upgrade *view.Upgrade, o Options) (rows []planRow, nodes int) {
	order := slices.Clone(p.Nodes)
	slices.SortStableFunc(order, func(a, b plan.NodePlan) int {
		switch {
		case isLeftOut(a) == isLeftOut(b):
			return 0
		case isLeftOut(b):
			return -1
		}
		return 1
	})
	for i, n := range order {
		if o.Shows != nil && !o.Shows(n.Name) {
			continue
		}
		nodes++
		one := planRow{i + 1, []string{n.Name}, planCells(n, upgrade, o), []plan.NodePlan{n}}
		if isLeftOut(n) {
			one.first = 0
		}
		if len(rows) > 0 && o.Width > 0 && !o.Wide {
			if last := &rows[len(rows)-1]; last.follows(one) && slices.Equal(last.cells, one.cells) {
				last.names, last.nodes = append(last.names, n.Name), append(last.nodes, n)
				continue
			}
		}
		rows = append(rows, one)
	}
	return rows, nodes
}

// follows reports whether nothing is between the row and the next one.
func (r planRow) follows(next planRow) bool {
	if r.first == 0 || next.first == 0 {
		return r.first == next.first
	}
	return r.first+len(r.names) == next.first
}

// planCells returns what is told of a node.
func planCells(n plan.NodePlan, upgrade *view.Upgrade, o Options) []cell {
	at := o.minute
	if o.Width > 0 && !o.Wide {
		at = o.short
	}
	why := cell{o.why(n.Reason, n.Message, n.Until), plain}
	if o.upgradeSays(upgrade, n.Reason, n.Message) {
		why.text = string(n.Reason)
	}
	zone, to, decision := orDash(n.Zone), cell{orDash(n.To), plain}, cell{string(n.Decision), decisionColors[n.Decision]}
	if isLeftOut(n) {
		zone, to, decision = "-", cell{"-", plain}, cell{"-", plain}
	}
	if isIdle(n) {
		decision = cell{"-", plain}
	}
	return []cell{
		{orDash(n.Group), plain}, {zone, plain}, {orDash(n.From), plain}, to,
		decision, {at(n.PredictedStart), plain}, {at(n.PredictedEnd), plain}, why,
	}
}

// mostNames is how wide the names of nodes that share a row may be in their column; wider ones are in the line below.
const mostNames = 24

// planTable has the rows in the order in which nodes go, and before them the pass in which kubeadm runs on control planes.
func planTable(p plan.Plan, rows []planRow, o Options) string {
	start := "START"
	if o.Width > 0 && !o.Wide {
		start += " " + o.zoneName()
	}
	columns := []column{
		{title: "#"}, {title: "NODE"}, {title: "GROUP", leaves: 2, as: "group "}, {title: "ZONE", leaves: 3, as: "zone "}, {title: "FROM", leaves: 5, as: "from "},
		{title: "TO", leaves: 4, as: "to "}, {title: "DECISION"}, {title: start}, {title: "END", leaves: 1, as: "ends "}, {title: "WHY"},
	}
	if pass := p.Pass1; pass != nil && p.Version != "" && o.shows(pass.Nodes) { // without a version there is no other pass
		rows = append([]planRow{o.passRow(p)}, rows...)
	}
	for _, r := range rows {
		number, name, why := fmt.Sprint(r.first), strings.Join(r.names, " "), len(r.cells)-1
		switch {
		case r.first == 0:
			number = "-"
		case len(r.names) > 1:
			number = fmt.Sprintf("%d-%d", r.first, r.first+len(r.names)-1)
		}
		cells := slices.Clone(r.cells)
		if len(r.names) > 1 && textWidth(name) > mostNames {
			cells[why].text = name + ": " + cells[why].text
			name = fmt.Sprintf("%d nodes", len(r.names))
		}
		for i, one := range append([]cell{{number, plain}, {name, plain}}, cells...) {
			columns[i].cells = append(columns[i].cells, one)
		}
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		switch c.title {
		case "ZONE":
			return !alternates(p)
		case start, "END":
			return p.Pass1 == nil && !slices.ContainsFunc(p.Nodes, func(n plan.NodePlan) bool { return n.PredictedStart != nil })
		}
		return false
	})
	return o.draw(table{columns: columns, once: true})
}

// alternates reports whether nodes of one group alternate between zones.
func alternates(p plan.Plan) bool {
	zones := map[string]string{}
	for _, n := range p.Nodes {
		if isLeftOut(n) {
			continue
		}
		if zone, seen := zones[n.Group]; seen && zone != n.Zone {
			return true
		}
		zones[n.Group] = n.Zone
	}
	return false
}

// passRow returns the row of the pass in which kubeadm runs on control planes.
func (o Options) passRow(p plan.Plan) planRow {
	at := o.minute
	if o.Width > 0 && !o.Wide {
		at = o.short
	}
	why := "first kubeadm, while nodes stay in service"
	if len(p.Pass1.Nodes) > 1 {
		why = "first kubeadm, on one after another, while nodes stay in service"
	}
	return planRow{names: p.Pass1.Nodes, cells: []cell{
		{plan.ControlPlaneGroup, plain}, {"-", plain}, {"-", plain}, {orDash(p.Version), plain}, {"-", plain}, {at(&p.Pass1.Start), plain}, {at(&p.Pass1.End), plain}, {why, plain},
	}}
}

// shows reports whether one of the nodes is shown.
func (o Options) shows(nodes []string) bool {
	return o.Shows == nil || slices.ContainsFunc(nodes, o.Shows)
}
