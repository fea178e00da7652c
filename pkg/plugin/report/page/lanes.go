package page

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// lane is the row of a node in the timeline.
type lane struct {
	Short, Summary string
	Calendar       int // less than 0: it is not drawn
	Bars           []bar
	State          string
}

// bar is a colored time of a lane.
type bar struct {
	Class, X, Width string
	Title           string // empty: the lane's summary says it
}

// lanes draws nodes.
type lanes struct {
	axis
	clock
	report *report.Report
	// detailed reports whether each bar says what it is.
	detailed bool
}

func (l lanes) lane(n *report.Node) lane {
	one := lane{Short: shorten(n.Name), Calendar: n.Calendar, Summary: l.summary(n), State: string(n.State)}
	if l.detailed {
		for _, w := range n.Waits {
			title := fmt.Sprintf("%s waited %s, %s – %s: %s", n.Name, length(w.End.Sub(w.Start)), l.exact(w.Start), l.exact(w.End), why(w))
			one.Bars = append(one.Bars, l.bar("w", w.Start, w.End, title))
		}
	}
	one.Bars = append(one.Bars, l.bars(n)...)
	if n.PredictedStartTime != nil && n.PredictedEndTime != nil && n.PredictedStartTime.After(l.report.GeneratedTime) {
		title := fmt.Sprintf("%s: expected from %s to %s", n.Name, l.short(*n.PredictedStartTime), l.short(*n.PredictedEndTime))
		one.Bars = append(one.Bars, l.bar("p", *n.PredictedStartTime, *n.PredictedEndTime, title))
	}
	return one
}

// bars returns a bar for each run of steps of the same kind.
func (l lanes) bars(n *report.Node) (bars []bar) {
	for i := 0; i < len(n.Steps); {
		k, start := drawn(n.Steps[i].Step), n.Steps[i].Start
		var parts []string
		end := start
		for ; i < len(n.Steps) && drawn(n.Steps[i].Step) == k; i++ {
			s := n.Steps[i]
			end = endOf(l.report, s)
			parts = append(parts, fmt.Sprintf("%s %s", s.Step, length(end.Sub(s.Start))))
		}
		if k == nil {
			continue
		}
		title := fmt.Sprintf("%s: %s, %s – %s (%s)", n.Name, k.Name, l.exact(start), l.exact(end), strings.Join(parts, ", "))
		bars = append(bars, l.bar(k.Class, start, end, title))
	}
	return bars
}

func (l lanes) bar(class string, start, end time.Time, title string) bar {
	if !l.detailed {
		title = ""
	}
	left, right := l.at(start), l.at(end)
	return bar{Class: class, X: percent(left), Width: percent(max(right-left, 0)), Title: title}
}

// why returns why a node waited, with its code.
func why(w report.Wait) string {
	if w.Reason == "" {
		return w.Message
	}
	return fmt.Sprintf("%s (%s)", w.Message, w.Reason)
}

// summary returns a node in one line: the text of a lane.
func (l lanes) summary(n *report.Node) string {
	text := n.Name + ": " + stateNames[n.State]
	if n.StartTime != nil {
		text += ", began " + l.short(*n.StartTime)
	}
	if n.EndTime != nil {
		text += ", done " + l.short(*n.EndTime)
	}
	if n.Attempts > 1 {
		text += fmt.Sprintf(", %d attempts", n.Attempts)
	}
	if causes := sumWaits(n.Waits); len(causes) > 0 {
		text += ", waited: " + causesText(causes)
	}
	return text
}

// longName is up to how many letters a name is shown in full beside its lane. A longer one
// loses its middle, as the ends of names tell nodes apart.
const longName = 26

func shorten(name string) string {
	letters := []rune(name)
	if len(letters) <= longName {
		return name
	}
	return string(letters[:longName/2-3]) + "…" + string(letters[len(letters)-longName/2-2:])
}

// namesClass returns how much room names need.
func namesClass(nodes []report.Node) string {
	longest := 0
	for i := range nodes {
		longest = max(longest, len(nodes[i].Name))
	}
	switch {
	case longest > 18:
		return "long"
	case longest > 10:
		return "medium"
	}
	return "brief"
}

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
	if n.Rehearsal != "" {
		row.Why = strings.TrimPrefix(row.Why+"; "+n.Rehearsal, "; ")
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
