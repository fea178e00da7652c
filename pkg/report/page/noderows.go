package page

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"
)

// stateNames are the states for people.
var stateNames = map[report.State]string{
	report.Done: "done", report.UpToDate: "nothing to do", report.Active: "being upgraded",
	report.Waiting: "waiting", report.Failed: "failed", report.NotDone: "not upgraded",
}

// nodeRow is a row of the table of nodes.
type nodeRow struct {
	Name, Group, From, To    string
	Began, Back, Out, Waited string
	WaitedFor                string // with the reasons
	Versions                 string // where they are not those of the upgrade
	Parts                    []partCell
	Attempts                 int32
	State, Class, Why        string
	Steps                    []stepRow
}

// partCell is a measured part, against what was expected of it.
type partCell struct {
	Name, Took, Difference string
	// Slow reports whether it took much longer than expected.
	Slow bool
}

type stepRow struct{ Step, Meaning, Start, Took string }

// slow is from which part of the expected duration a part is slow.
const slow = 1.5

func (l lanes) nodeRow(n *report.Node) nodeRow {
	row := nodeRow{
		Name: n.Name, Group: n.GroupName(), From: n.From, To: n.To, Attempts: n.Attempts,
		State: stateNames[n.State], Class: strings.ToLower(string(n.State)),
		Began: l.orDash(n.StartTime), Back: l.orDash(n.EndTime), Out: "–", Waited: "–",
	}
	if n.OutOfServiceSeconds > 0 {
		row.Out = seconds(n.OutOfServiceSeconds)
	}
	if waited := n.Waited(); waited > 0 {
		row.Waited, row.WaitedFor = length(waited), causesText(sumWaits(n.Waits))
	}
	if u := l.report.Upgrade; n.From != u.From || n.To != u.To {
		row.Versions = n.From + " → " + n.To
	}
	if n.Reason != "" {
		row.Why = strings.TrimSuffix(string(n.Reason)+": "+n.Message, ": ")
	}
	if n.Until != nil && !dated.MatchString(n.Message) {
		row.Why += ", until " + l.short(*n.Until)
	}
	for _, p := range n.Parts {
		row.Parts = append(row.Parts, partCell{
			Name: partNames[p.Part], Took: seconds(p.Seconds), Difference: difference(p.Seconds - p.ExpectedSeconds),
			Slow: float64(p.Seconds) > slow*float64(p.ExpectedSeconds),
		})
	}
	return row
}

// dated matches a message that contains the time already.
var dated = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)

// partNames are the parts for people.
var partNames = map[report.PartName]string{report.Kubeadm: "kubeadm", report.Reboot: "reboot", report.Restart: "restart"}

// difference returns by how much something took longer or less long than expected.
func difference(by int32) string {
	switch {
	case by > 0:
		return "+" + seconds(by)
	case by < 0:
		return "−" + seconds(-by)
	}
	return "as expected"
}

// steps returns the steps of a node.
func (l lanes) steps(n *report.Node) (rows []stepRow) {
	for _, s := range n.Steps {
		took := length(endOf(l.report, s).Sub(s.Start))
		if s.End == nil {
			took = "since " + took
		}
		rows = append(rows, stepRow{Step: string(s.Step), Meaning: s.Step.Info().Meaning, Start: l.exact(s.Start), Took: took})
	}
	return rows
}

func (l lanes) orDash(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return l.short(*t)
}

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
	if len(full) <= longName || same < 4 {
		return full, full
	}
	return full, "…" + first[same:] + " – …" + last[same:]
}

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
