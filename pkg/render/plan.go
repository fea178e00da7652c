package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
)

// Plan draws what would happen now. upgrade is the one that the plan is for, as
// it will report itself; nil where it is for none, or for one that is over.
// o.Now is the instant that was planned for.
func Plan(p plan.Plan, upgrade *Upgrade, o Options) string {
	var b strings.Builder
	for _, row := range planHead(p, upgrade, o) {
		o.hang(&b, fmt.Sprintf("%-12s", row[0].text), 12, row[1])
	}
	if len(p.Nodes) > 0 {
		b.WriteString("\n" + planTable(p.Nodes, o))
	}
	return b.String()
}

func planHead(p plan.Plan, upgrade *Upgrade, o Options) [][2]cell {
	var rows [][2]cell
	switch {
	case upgrade != nil:
		rows = append(rows, titled("Upgrade:", cell{upgrade.Name + ", " + path(*upgrade), bold}))
		if why := o.why(upgrade.Reason, upgrade.Message, nil); why != "" {
			rows = append(rows, titled("", cell{why, upgradeColor(*upgrade)}))
		}
	case p.Upgrade != "":
		rows = append(rows, titled("Upgrade:", cell{fmt.Sprintf("none is active; nodes that come late follow %s", p.Upgrade), plain}))
	default:
		rows = append(rows, titled("Upgrade:", cell{"none is active", plain}))
	}
	if p.Create != nil {
		rows = append(rows, titled("Creates:", cell{fmt.Sprintf("ClusterUpgrade %s to %s, as a schedule's `automatic` asks for", p.Create.Name, p.Create.Spec.Version), cyan}))
	}
	rows = append(rows, titled("At:", cell{o.when(o.Now), plain}))
	if p.Next != nil {
		rows = append(rows, titled("Until:", cell{o.when(*p.Next) + ", unless something happens before", plain}))
	}
	return append(rows, titled("Nodes:", cell{decisions(p.Nodes), plain}))
}

// decisions is "3: 1 go, 2 wait".
func decisions(nodes []plan.NodePlan) string {
	if len(nodes) == 0 {
		return "none"
	}
	numbers := map[plan.Decision]int{}
	for _, n := range nodes {
		numbers[n.Decision]++
	}
	var parts []string
	for _, decision := range []plan.Decision{plan.Go, plan.Wait, plan.Blocked, plan.Done} {
		if n := numbers[decision]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(decision))))
		}
	}
	return fmt.Sprintf("%d: %s", len(nodes), strings.Join(parts, ", "))
}

var decisionColors = map[plan.Decision]color{plan.Go: cyan, plan.Wait: yellow, plan.Done: green, plan.Blocked: red}

// planTable has a row for each node, in the order in which they go.
func planTable(nodes []plan.NodePlan, o Options) string {
	narrow := o.Width > 0 && o.Width < 80 && !o.Wide
	header := []string{"#", "NODE"}
	if !narrow {
		header = append(header, "GROUP", "FROM", "TO")
	}
	header = append(header, "DECISION", "WHY")
	rows := make([][]cell, 0, len(nodes))
	for i, n := range nodes {
		row := []cell{{strconv.Itoa(i + 1), plain}, {n.Name, plain}}
		if !narrow {
			row = append(row, cell{orDash(n.Group), plain}, cell{orDash(n.From), plain}, cell{orDash(n.To), plain})
		}
		rows = append(rows, append(row, cell{string(n.Decision), decisionColors[n.Decision]}, cell{o.why(n.Reason, n.Message, n.Until), plain}))
	}
	return o.table(header, rows)
}
