package page

import (
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
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
	if n.MethodMessage != "" {
		row.Why = strings.TrimPrefix(row.Why+"; rebooted, because "+n.MethodMessage, "; ")
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
var partNames = map[report.PartName]string{report.Kubeadm: "kubeadm", report.Reboot: "reboot", report.SoftReboot: "soft reboot", report.Restart: "restart"}

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
