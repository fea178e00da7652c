package render

import "slices"

// nodeTable has a row for each node. Where there is little room, the columns
// that other commands show as well are left out.
func nodeTable(nodes []Node, upgrade *Upgrade, o Options) string {
	columns := []column{
		{"NODE", func(n Node) cell { return cell{n.Name, plain} }},
		{"CONDITION", func(n Node) cell { return cell{orDash(n.Condition), plain} }},
		{"KUBELET", func(n Node) cell { return cell{orDash(n.Kubelet), plain} }},
		{"STAGED", func(n Node) cell { return cell{orDash(n.Staged), plain} }},
		{"TARGET", func(n Node) cell { return cell{orDash(n.Target), plain} }},
		{"RELEASE", func(n Node) cell { return cell{orDash(string(n.Release)), plain} }},
		{"SLOT", func(n Node) cell { return cell{orDash(n.Slot), plain} }},
		{"AGENT", func(n Node) cell { return cell{orDash(n.Agent), plain} }},
		{"STEP", func(n Node) cell { return cell{orDash(string(n.Step)), stateColors[n.State]} }},
		{"SINCE", func(n Node) cell { return cell{o.age(n.Since), plain} }},
		{"WHY", func(n Node) cell {
			if upgrade.says(n.Reason, n.Message) {
				return cell{string(n.Reason), whyColor(n)}
			}
			return cell{n.why(o), whyColor(n)}
		}},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		switch c.title {
		case "TARGET", "RELEASE", "SLOT", "AGENT":
			return !o.Wide
		case "CONDITION":
			return o.Width > 0 && o.Width < 80 && !o.Wide
		}
		return false
	})
	header := make([]string, len(columns))
	for i, c := range columns {
		header[i] = c.title
	}
	rows := make([][]cell, len(nodes))
	for i, node := range nodes {
		for _, c := range columns {
			rows[i] = append(rows[i], c.of(node))
		}
	}
	return o.table(header, rows)
}

// column is a column of the nodes' table.
type column struct {
	title string
	of    func(Node) cell
}

func whyColor(n Node) color {
	if n.State == StateFailed {
		return red
	}
	return plain
}
