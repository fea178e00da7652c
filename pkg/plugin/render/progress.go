package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Follow draws an upgrade on a terminal of so many lines: a line for each node, cut to
// the width, and above them in full what holds nodes up. Where there is no room for all
// nodes, it shows those that need a person, are at work or come next. 0 lines: no limit.
func Follow(p view.Progress, lines int, o Options) string {
	var b strings.Builder
	b.WriteString(o.titles(progressHead(p, o)))
	reasons := strings.SplitAfter(o.titles(reasonRows(p, o)), "\n")
	if most := lines / 3; lines > 0 && len(reasons)-1 > most {
		reasons = append(reasons[:max(most-1, 0)], o.cut("            … `kubectl upgrade status` shows all", o.Width)+"\n")
	}
	b.WriteString(strings.Join(reasons, ""))
	if len(p.Nodes) == 0 {
		return b.String()
	}
	room := len(p.Nodes)
	if lines > 0 {
		room = max(lines-strings.Count(b.String(), "\n")-2, 1) // an empty line, and the header
	}
	shown, rest := choose(p.Nodes, room)
	b.WriteString("\n" + progressTable(p.Upgrade, shown, o))
	if len(rest) > 0 {
		b.WriteString(o.cut(fmt.Sprintf("and %s", tally(rest, " more")), o.Width) + "\n")
	}
	return b.String()
}

// head returns the lines above the table.
func progressHead(p view.Progress, o Options) [][2]cell {
	u := p.Upgrade
	text := u.Name + ", " + path(u)
	rows := append(append(o.clusterRows(), problemRows(p.Problems, o)...), titled("Upgrade:", cell{text, bold}))
	summary := o.why(u.Reason, u.Message, nil)
	if u.Reason == v1alpha1.ReasonReleased {
		summary = "" // the table shows the active nodes
	}
	if u.Outcome != "" {
		summary = strings.TrimSuffix(string(u.Outcome)+": "+o.said(u.Message), ": ")
	}
	if u.TriggerTime == nil && u.Reason == "" {
		summary = "waiting for the coordinator"
	}
	if summary != "" {
		rows = append(rows, titled("", cell{summary, summaryColor(p)}))
	}
	if len(p.Nodes) > 0 {
		rows = append(rows, titled("Progress:", cell{overallProgress(p, o), plain}))
	}
	switch {
	case u.Outcome != "":
	case p.PredictedEnd != nil:
		rows = append(rows, titled("Expected:", cell{"done " + o.predicted(*p.PredictedEnd, p.PredictedFrom), plain}))
	case u.TriggerTime != nil:
		rows = append(rows, titled("Expected:", cell{"the end cannot be predicted", plain}))
	}
	return rows
}

func summaryColor(p view.Progress) color {
	switch {
	case p.Upgrade.Outcome == v1alpha1.OutcomeSucceeded:
		return green
	case p.Upgrade.Outcome != "":
		return red
	}
	return upgradeColor(p.Upgrade)
}

// overall returns the bar of all nodes together, with their number and the time.
func overallProgress(p view.Progress, o Options) string {
	total, done, share := 0, 0, 0
	for _, n := range p.Nodes {
		if n.State == view.StateUnsupported || n.Reason == v1alpha1.ReasonAbandoned {
			continue
		}
		total++
		share += nodeShare(n)
		if n.State == view.StateDone {
			done++
		}
	}
	text := fmt.Sprintf(" %d of %d nodes done", done, total)
	if total == 1 {
		text = fmt.Sprintf(" %d of 1 node done", done)
	}
	switch u := p.Upgrade; {
	case u.TriggerTime != nil && u.EndTime != nil:
		text += ", in " + duration.HumanDuration(u.EndTime.Sub(*u.TriggerTime))
	case u.TriggerTime != nil:
		text += ", for " + o.age(u.TriggerTime)
	}
	width := 40
	if o.Width > 0 {
		width = min(width, max(o.Width-12-len(text), 8))
	}
	return bar(roundedUp(share, max(total, 1)), width) + text
}

// tally counts the nodes, such as "480 more: 300 done, 180 waiting".
func tally(nodes []view.NodeProgress, more string) string {
	numbers := map[view.State]int{}
	for _, n := range nodes {
		numbers[n.State]++
	}
	return fmt.Sprintf("%d%s: %s", len(nodes), more, byState(numbers))
}

// choose returns the nodes that matter most, in their order, so that a line is left for
// the number of the rest.
func choose(nodes []view.NodeProgress, room int) (shown, rest []view.NodeProgress) {
	if len(nodes) <= room {
		return nodes, nil
	}
	room = max(room-1, 1)
	chosen := make([]bool, len(nodes))
	for _, matters := range []func(view.NodeProgress) bool{
		func(n view.NodeProgress) bool { return n.State == view.StateFailed },
		func(n view.NodeProgress) bool { return n.State == view.StateActive },
		heldUp,
		func(n view.NodeProgress) bool { return n.State == view.StateWaiting },
		func(n view.NodeProgress) bool { return n.State == view.StateUnknown },
		func(view.NodeProgress) bool { return true },
	} {
		for i, n := range nodes {
			if room > 0 && !chosen[i] && matters(n) {
				chosen[i] = true
				room--
			}
		}
	}
	for i, n := range nodes {
		if chosen[i] {
			shown = append(shown, n)
		} else {
			rest = append(rest, n)
		}
	}
	return shown, rest
}

// share returns how much of its upgrade the node has done, in percent. Each pass counts
// the same.
func nodeShare(n view.NodeProgress) int {
	switch n.State {
	case view.StateDone:
		return 100
	case view.StateUnsupported, view.StateUnknown:
		return 0
	}
	step, passes := n.Step, n.PassesDone
	if n.State == view.StateFailed {
		step = failedAt(n)
	}
	if inFirstPass(n, step) {
		passes = 0
	}
	return roundedUp(100*passes+step.Info().Share, max(n.Passes, 1))
}

// roundedUp returns a/b, rounded up: what has begun is more than nothing.
func roundedUp(a, b int) int { return (a + b - 1) / b }

// inFirstPass reports whether a node at that step is in the first of two passes,
// whose work may be complete before it ends.
func inFirstPass(n view.NodeProgress, step v1alpha1.Step) bool {
	only := step == v1alpha1.StepChecking || step == v1alpha1.StepSnapshotting
	return only || view.StateOf(step) == view.StateActive && n.Release == v1alpha1.ReleaseControlPlane
}

// failedAt returns the step in which the node failed.
func failedAt(n view.NodeProgress) v1alpha1.Step {
	for _, step := range slices.Backward(n.Steps) {
		if view.StateOf(step.Step) == view.StateActive && step.Step != v1alpha1.StepAborting {
			return step.Step
		}
	}
	return n.Step
}

// bar draws a percentage. It is full only at the end, and empty only at the beginning.
func bar(percent, width int) string {
	full := percent * width / 100
	if full == 0 && percent > 0 {
		full = 1
	}
	full = min(max(full, 0), width)
	return strings.Repeat("#", full) + strings.Repeat(".", width-full)
}

// nameShare is the part of the width that a node's name may take: a third.
const nameShare = 3

// progressTable has one line for each node, whatever the width: texts are cut, and on a
// narrow terminal the reasons are only in the lines above the table.
func progressTable(u view.Upgrade, nodes []view.NodeProgress, o Options) string {
	header := []cell{{"NODE", bold}, {"STEP", bold}, {"PROGRESS", bold}, {"TIME", bold}, {"WHY", bold}}
	rows := [][]cell{header}
	for _, n := range nodes {
		why := progressWhy(n, o)
		if u.Outcome == "" && n.RetryTime == nil && o.upgradeSays(&u, n.Reason, n.Message) {
			why = string(n.Reason) // the lines above have the sentence
		}
		rows = append(rows, []cell{
			{n.Name, plain}, {orDash(string(n.Step)), stateColors[n.State]}, {bar(nodeShare(n), o.barWidth()), stateColors[n.State]},
			{progressTime(n, o), plain}, {why, whyColor(n.Node)},
		})
	}
	if o.narrow() {
		for i := range rows {
			rows[i] = rows[i][:4]
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], textWidth(c.text))
		}
	}
	if o.Width > 0 {
		widths[0] = min(widths[0], max(o.Width/nameShare, 8))
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(o.row(row, widths) + "\n")
	}
	return b.String()
}

// row draws one line. Times are aligned to the right.
func (o Options) row(cells []cell, widths []int) string {
	var line strings.Builder
	left := 0
	for i, c := range cells {
		if i > 0 {
			line.WriteString(o.gap())
			left += len(o.gap())
		}
		room := widths[i]
		if o.Width > 0 {
			room = min(room, max(o.Width-left, 0))
		}
		text := o.cut(c.text, room)
		if room == 0 {
			text = ""
		}
		pad := strings.Repeat(" ", max(room-textWidth(text), 0))
		left += room
		switch {
		case i == 3:
			line.WriteString(pad + o.paint(text, c.color))
		case i == len(cells)-1:
			line.WriteString(o.paint(text, c.color))
		default:
			line.WriteString(o.paint(text, c.color) + pad)
		}
	}
	return strings.TrimRight(line.String(), " ")
}

func (o Options) gap() string {
	if o.narrow() {
		return "  "
	}
	return gap
}

func (o Options) barWidth() int {
	switch {
	case o.Width == 0 || o.Width >= 120:
		return 20
	case o.Width >= 80:
		return 12
	}
	return 8
}

// cut shortens a text to that many columns. 0: it is not cut.
func (o Options) cut(text string, room int) string {
	if room <= 0 || textWidth(text) <= room {
		return text
	}
	return beginning(text, room-1) + "…"
}

// time returns how long a node has been at work, or took, or when it is expected to
// begin.
func progressTime(n view.NodeProgress, o Options) string {
	switch n.State {
	case view.StateActive:
		began := passBegan(n, o.Now)
		return o.age(&began)
	case view.StateFailed:
		if n.Since != nil {
			return o.age(n.Since)
		}
	case view.StateDone:
		if took := passTook(n); took > 0 {
			return duration.HumanDuration(took)
		}
	case view.StateWaiting:
		switch {
		case n.PredictedStart == nil:
		case o.narrow():
			return "~" + o.short(n.PredictedStart)
		default:
			return "~" + o.short(n.PredictedStart) + " " + o.zoneName()
		}
	}
	return "-"
}

// passBegan returns when a node that is at work took its slot.
func passBegan(n view.NodeProgress, otherwise time.Time) time.Time {
	for _, step := range slices.Backward(n.Steps) {
		if step.Step == v1alpha1.StepLocking {
			return step.StartTime.Time
		}
	}
	if n.Since != nil {
		return *n.Since
	}
	return otherwise
}

// took returns how long the node was at work, without the time between its passes.
func passTook(n view.NodeProgress) time.Duration {
	var total time.Duration
	for _, step := range n.Steps {
		if view.StateOf(step.Step) == view.StateActive && step.EndTime != nil {
			total += step.EndTime.Sub(step.StartTime.Time)
		}
	}
	return total
}

// why returns the node's reason, and when it tries again.
func progressWhy(n view.NodeProgress, o Options) string {
	if n.RetryTime != nil && n.RetryTime.After(o.Now) && n.Step == v1alpha1.StepWaiting {
		return o.why(shownReason(n.Node), n.Message, nil) + "; tries again " + o.when(*n.RetryTime)
	}
	return nodeWhy(n.Node, o)
}
