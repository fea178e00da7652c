package render

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// nameShare is the part of the width that a node's name may take: a third.
const nameShare = 3

// progressTable has one line for each node, whatever the width: texts are cut, and on a
// narrow terminal the reasons are only in the lines above the table.
func progressTable(nodes []NodeProgress, o Options) string {
	header := []cell{{"NODE", bold}, {"STEP", bold}, {"PROGRESS", bold}, {"TIME", bold}, {"WHY", bold}}
	rows := [][]cell{header}
	for _, n := range nodes {
		rows = append(rows, []cell{
			{n.Name, plain}, {orDash(string(n.Step)), stateColors[n.State]}, {bar(n.share(), o.barWidth()), stateColors[n.State]},
			{n.time(o), plain}, {n.why(o), whyColor(n.Node)},
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
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
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
		pad := strings.Repeat(" ", max(room-utf8.RuneCountInString(text), 0))
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

// cut shortens a text to that many characters. 0: it is not cut.
func (o Options) cut(text string, room int) string {
	if room <= 0 || utf8.RuneCountInString(text) <= room {
		return text
	}
	return string([]rune(text)[:room-1]) + "…"
}

// time returns how long a node has been at work, or took, or when it is expected to
// begin.
func (n NodeProgress) time(o Options) string {
	switch n.State {
	case StateActive:
		return clock(o.Now.Sub(n.passBegan(o.Now)))
	case StateFailed:
		if n.Since != nil {
			return clock(o.Now.Sub(*n.Since))
		}
	case StateDone:
		if took := n.took(); took > 0 {
			return clock(took)
		}
	case StateWaiting:
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
func (n NodeProgress) passBegan(otherwise time.Time) time.Time {
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
func (n NodeProgress) took() time.Duration {
	var total time.Duration
	for _, step := range n.Steps {
		if StateOf(step.Step) == StateActive && step.EndTime != nil {
			total += step.EndTime.Sub(step.StartTime.Time)
		}
	}
	return total
}

// why returns the node's reason, and when it tries again.
func (n NodeProgress) why(o Options) string {
	if n.RetryTime != nil && n.RetryTime.After(o.Now) && n.Step == v1alpha1.StepWaiting {
		return o.why(n.shownReason(), n.Message, nil) + "; tries again " + o.when(*n.RetryTime)
	}
	return n.Node.why(o)
}
