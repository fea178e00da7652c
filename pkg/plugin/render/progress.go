package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Progress is an upgrade that is followed.
type Progress struct {
	Problems []Problem
	Upgrade  Upgrade
	// Nodes in the order in which they go.
	Nodes []NodeProgress
	// PredictedEnd is when the last of them is done. Nil: that is not known.
	PredictedEnd *time.Time
}

// NodeProgress is a node in it.
type NodeProgress struct {
	Node
	// Passes is how often the node has to take a slot, and PassesDone how often it
	// is done with that: a control plane that kubeadm changes goes in two passes.
	Passes, PassesDone int
	// PredictedStart is when it is expected to be taken out of service. Nil: that
	// is not known, or is over.
	PredictedStart *time.Time
}

// Follow draws an upgrade on a terminal of so many lines: a line for each node, cut to
// the width, and above them in full what holds nodes up. Where there is no room for all
// nodes, it shows those that need a person, are at work or come next. 0 lines: no limit.
func Follow(p Progress, lines int, o Options) string {
	var b strings.Builder
	b.WriteString(o.titles(p.head(o)))
	reasons := strings.SplitAfter(o.titles(p.reasonRows(o)), "\n")
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
	b.WriteString("\n" + progressTable(shown, o))
	if len(rest) > 0 {
		b.WriteString(o.cut(fmt.Sprintf("and %s", tally(rest, " more")), o.Width) + "\n")
	}
	return b.String()
}

// head returns the lines above the table.
func (p Progress) head(o Options) [][2]cell {
	u := p.Upgrade
	text := u.Name + ", " + path(u)
	rows := append(problemRows(p.Problems, o), titled("Upgrade:", cell{text, bold}))
	summary := o.why(u.Reason, u.Message, nil)
	if u.Reason == v1alpha1.ReasonReleased {
		summary = "" // the table shows the active nodes
	}
	if u.Outcome != "" {
		summary = strings.TrimSuffix(string(u.Outcome)+": "+u.Message, ": ")
	}
	if u.TriggerTime == nil && u.Reason == "" {
		summary = "waiting for the coordinator"
	}
	if summary != "" {
		rows = append(rows, titled("", cell{summary, p.summaryColor()}))
	}
	if len(p.Nodes) > 0 {
		rows = append(rows, titled("Progress:", cell{p.overall(o), plain}))
	}
	switch {
	case u.Outcome != "":
	case p.PredictedEnd != nil:
		rows = append(rows, titled("Expected:", cell{"done " + o.when(*p.PredictedEnd), plain}))
	case u.TriggerTime != nil:
		rows = append(rows, titled("Expected:", cell{"the end cannot be predicted", plain}))
	}
	return rows
}

func (p Progress) summaryColor() color {
	switch {
	case p.Upgrade.Outcome == v1alpha1.OutcomeSucceeded:
		return green
	case p.Upgrade.Outcome != "":
		return red
	}
	return upgradeColor(p.Upgrade)
}

// overall returns the bar of all nodes together, with their number and the time.
func (p Progress) overall(o Options) string {
	total, done, share := 0, 0, 0
	for _, n := range p.Nodes {
		if n.State == StateUnsupported || n.Reason == v1alpha1.ReasonAbandoned {
			continue
		}
		total++
		share += n.share()
		if n.State == StateDone {
			done++
		}
	}
	text := fmt.Sprintf(" %d of %d nodes done", done, total)
	if total == 1 {
		text = fmt.Sprintf(" %d of 1 node done", done)
	}
	switch u := p.Upgrade; {
	case u.TriggerTime != nil && u.CompletionTime != nil:
		text += ", in " + clock(u.CompletionTime.Sub(*u.TriggerTime))
	case u.TriggerTime != nil:
		text += ", for " + clock(o.Now.Sub(*u.TriggerTime))
	}
	width := 40
	if o.Width > 0 {
		width = min(width, max(o.Width-12-len(text), 8))
	}
	return bar(roundedUp(share, max(total, 1)), width) + text
}

// tally counts the nodes, such as "480 more: 300 done, 180 waiting".
func tally(nodes []NodeProgress, more string) string {
	numbers := map[State]int{}
	for _, n := range nodes {
		numbers[n.State]++
	}
	return fmt.Sprintf("%d%s: %s", len(nodes), more, byState(numbers))
}

// choose returns the nodes that matter most, in their order, so that a line is left for
// the number of the rest.
func choose(nodes []NodeProgress, room int) (shown, rest []NodeProgress) {
	if len(nodes) <= room {
		return nodes, nil
	}
	room = max(room-1, 1)
	chosen := make([]bool, len(nodes))
	for _, matters := range []func(NodeProgress) bool{
		func(n NodeProgress) bool { return n.State == StateFailed },
		func(n NodeProgress) bool { return n.State == StateActive },
		NodeProgress.heldUp,
		func(n NodeProgress) bool { return n.State == StateWaiting },
		func(n NodeProgress) bool { return n.State == StateUnknown },
		func(NodeProgress) bool { return true },
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

// clock returns a duration as a clock shows it: 4:05, 1:04:05.
func clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
