package page

import (
	"fmt"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// section is nodes of one group that are drawn together.
type section struct {
	Title    string
	Names    string // of the first and the last
	Range    string // the same, without how both begin
	Calendar int
	Areas    []area
	Lanes    []lane
	Rows     []nodeRow
}

// sections divides the nodes of a large cluster by their groups, in upgrade order.
func (l lanes) sections() (list []section) {
	nodes := l.report.Nodes
	for len(nodes) > 0 {
		size := 1
		for size < len(nodes) && size < sectionSize && nodes[size].Group == nodes[0].Group && nodes[size].Calendar == nodes[0].Calendar {
			size++
		}
		some := nodes[:size]
		s := section{Title: some[0].GroupName(), Calendar: some[0].Calendar, Areas: l.areas(some)}
		s.Names, s.Range = between(some[0].Name, some[size-1].Name)
		s.Title = fmt.Sprintf("%s, %d", s.Title, size)
		for i := range some {
			one := l.lane(&some[i])
			one.Calendar = -1 // it is drawn once behind all lanes
			s.Lanes, s.Rows = append(s.Lanes, one), append(s.Rows, l.nodeRow(&some[i]))
		}
		list, nodes = append(list, s), nodes[size:]
	}
	return list
}

// between names the nodes from one to another, in full and in short.
func between(first, last string) (full, short string) {
	if first == last {
		return first, first
	}
	full = first + " – " + last
	same := 0
	for same < min(len(first), len(last)) && first[same] == last[same] && !isDigit(first[same]) {
		same++
	}
	if len(full) <= longRange || same < 4 {
		return full, full
	}
	return full, "…" + first[same:] + " – …" + last[same:]
}

// longRange is up to how many letters two names are shown in full.
const longRange = 34

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// notable returns the nodes of a large cluster that people look for: first those that failed,
// those that are being upgraded, and control planes.
func (l lanes) notable() (nodes []*report.Node) {
	chosen := map[*report.Node]bool{}
	for _, isNotable := range []func(*report.Node) bool{
		func(n *report.Node) bool { return n.State == report.Failed },
		func(n *report.Node) bool { return n.State == report.Active },
		func(n *report.Node) bool { return n.ControlPlane },
		func(n *report.Node) bool { return n.Attempts > 1 },
	} {
		for i := range l.report.Nodes {
			if n := &l.report.Nodes[i]; !chosen[n] && isNotable(n) {
				chosen[n], nodes = true, append(nodes, n)
			}
		}
	}
	return nodes
}
