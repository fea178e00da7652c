package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
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
			title := fmt.Sprintf("exclusion %s: %s – %s", strings.TrimSuffix(x.Name+", "+x.Comment, ", "), l.short(x.Start), l.short(x.End))
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
			add(x.Start, x.End, windowRow{Kind: "exclusion", Class: "excluded", Name: x.Name, Why: x.Comment})
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

// area is how many nodes were in a state, from left to right.
type area struct{ Class, Path string }

// samples is at how many places nodes are counted.
const samples = 200

// areas returns the areas of nodes that were done, and above them of those that were being
// upgraded, in a picture of 200 by 100.
func (l lanes) areas(nodes []report.Node) []area {
	done, busy := make([]int, samples+1), make([]int, samples+1)
	place := func(x float64) int { return int(x*samples + 0.5) }
	for i := range nodes {
		n := &nodes[i]
		first := samples + 1
		if n.EndTime != nil {
			first = place(l.at(*n.EndTime))
		} else if n.State == report.UpToDate {
			first = 0
		}
		for x := first; x <= samples; x++ {
			done[x]++
		}
		seen := -1
		for _, s := range n.Steps {
			if k := drawn(s.Step); k == nil || k.Class == "s" {
				continue
			}
			for x := max(place(l.at(s.Start)), seen+1); x <= place(l.at(endOf(l.report, s))) && x < first; x++ {
				busy[x]++
				seen = x
			}
		}
	}
	for x := range busy {
		busy[x] += done[x]
	}
	return []area{{"busy", outline(busy, len(nodes))}, {"done", outline(done, len(nodes))}}
}

// outline returns the path around an area.
func outline(counts []int, of int) string {
	var b strings.Builder
	b.WriteString("M0 100")
	last := -1
	for x, count := range counts {
		y := 100 - 100*count/max(of, 1)
		if y == last {
			continue
		}
		last = y
		fmt.Fprintf(&b, "H%dV%d", x, y)
	}
	fmt.Fprintf(&b, "H%dV100z", samples)
	return b.String()
}
