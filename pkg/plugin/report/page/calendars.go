package page

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// calendar is what is drawn behind the lanes of the nodes that have it.
type calendar struct {
	Open, Excluded []bar
}

func (l lanes) calendars() (list []calendar) {
	for _, c := range l.report.Calendars {
		var one calendar
		for _, o := range c.Openings {
			title := fmt.Sprintf("window %s: open %s – %s", strings.Join(o.Windows, ", "), l.short(o.Start), l.short(o.End))
			one.Open = l.behind(one.Open, o.Start, o.End, title)
		}
		for _, x := range c.Exclusions {
			title := fmt.Sprintf("exclusion %s: %s – %s", strings.TrimSuffix(x.Name+", "+x.Reason, ", "), l.short(x.Start), l.short(x.End))
			one.Excluded = l.behind(one.Excluded, x.Start, x.End, title)
		}
		list = append(list, one)
	}
	return list
}

// behind adds the pieces of a time that are not in a break.
func (l lanes) behind(bars []bar, start, end time.Time, title string) []bar {
	for _, s := range l.segments {
		from, to := start, end
		if s.start.After(from) {
			from = s.start
		}
		if s.end.Before(to) {
			to = s.end
		}
		if !s.isBreak && from.Before(to) {
			bars = append(bars, bar{X: percent(l.at(from)), Width: percent(l.at(to) - l.at(from)), Title: title})
		}
	}
	return bars
}

// windowRow is a row of the table of windows and exclusions.
type windowRow struct {
	Kind, Class, Name, Start, End, Took, Why string
	Nodes                                    string
}

// windowRows returns the windows and exclusions in order.
func (l lanes) windowRows() (rows []windowRow) {
	type dated struct {
		at time.Time
		windowRow
	}
	var all []dated
	for i, c := range l.report.Calendars {
		nodes := l.nodesOf(i)
		add := func(start, end time.Time, row windowRow) {
			row.Start, row.End, row.Took, row.Nodes = l.short(start), l.short(end), length(end.Sub(start)), nodes
			same := func(d dated) bool { d.Nodes = nodes; return d.windowRow == row }
			if j := slices.IndexFunc(all, same); j >= 0 {
				all[j].Nodes = joinNodes(all[j].Nodes, nodes)
				return
			}
			all = append(all, dated{start, row})
		}
		for _, o := range c.Openings {
			add(o.Start, o.End, windowRow{Kind: "window", Class: "open", Name: strings.Join(o.Windows, ", ")})
		}
		for _, x := range c.Exclusions {
			add(x.Start, x.End, windowRow{Kind: "exclusion", Class: "excluded", Name: x.Name, Why: x.Reason})
		}
	}
	slices.SortStableFunc(all, func(a, b dated) int { return a.at.Compare(b.at) })
	for _, d := range all {
		rows = append(rows, d.windowRow)
	}
	return rows
}

// nodesOf says which nodes have a calendar: by their groups if that is shorter.
func (l lanes) nodesOf(calendar int) string {
	var names, groups []string
	count := 0
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		if n.Calendar != calendar {
			continue
		}
		if count++; count <= 3 {
			names = append(names, n.Name)
		}
		if group := n.GroupName(); !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	switch {
	case count == len(l.report.Nodes):
		return "all nodes"
	case count <= 3:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%d nodes: %s", count, strings.Join(groups, ", "))
}

func joinNodes(a, b string) string {
	if a == b || a == "all nodes" {
		return a
	}
	return a + "; " + b
}
