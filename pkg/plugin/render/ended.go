package render

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// Ended draws what stays on a terminal of an upgrade that was followed and has ended, or does not go on by itself: what came
// of it, how long each node took, and the commands that come next, each in one line.
func Ended(p view.Progress, o Options) string {
	if p.Upgrade.Outcome == v1alpha1.OutcomeSucceeded {
		return succeeded(p, o)
	}
	return stopped(p, o)
}

func succeeded(p view.Progress, o Options) string {
	u := p.Upgrade
	text := u.Message
	if text == "" {
		text = u.Name + " has succeeded"
	}
	if u.TriggerTime != nil && u.EndTime != nil {
		text += ", in " + duration.HumanDuration(u.EndTime.Sub(*u.TriggerTime))
	}
	if p.Expected > 0 {
		expected := "expected " + duration.HumanDuration(p.Expected)
		if p.Unmeasured {
			expected += ": nothing was measured yet"
		}
		text += " (" + expected + ")"
	}
	var b strings.Builder
	o.hang(&b, "", 0, cell{o.of(capital(o.said(text))) + ".", green})
	b.WriteString(o.tookTable(p))
	command := fmt.Sprintf("kubectl upgrade report %s --output-file %s.html", u.Name, u.Name)
	b.WriteString("\n" + o.commands([][2]string{{command, "the report, as a page"}}))
	return b.String()
}

// capital returns the text as the beginning of a sentence.
func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// mostTook is how many nodes are shown with their times: of more, those that took longest.
const mostTook = 20

// tookTable draws how long each node took, in two columns of nodes where there is room.
func (o Options) tookTable(p view.Progress) string {
	nodes := slices.DeleteFunc(slices.Clone(p.Nodes), func(n view.NodeProgress) bool { return passTook(n) == 0 })
	rest := len(nodes) - mostTook
	if rest > 0 {
		slices.SortStableFunc(nodes, func(a, b view.NodeProgress) int { return int(passTook(b) - passTook(a)) })
		nodes = nodes[:mostTook]
	}
	if len(nodes) == 0 {
		return ""
	}
	left := o.tookRows(nodes)
	if half := (len(nodes) + 1) / 2; len(nodes) > 3 {
		first, second := o.tookRows(nodes[:half]), o.tookRows(nodes[half:])
		width := widest(first) + 2*len(gap)
		if o.Width == 0 || width+widest(second) <= o.Width {
			left = first
			for i, line := range second {
				left[i] += strings.Repeat(" ", width-visible(left[i])) + line
			}
		}
	}
	text := "\n" + strings.Join(left, "\n") + "\n"
	if rest > 0 {
		text += fmt.Sprintf("and %d more, which took less\n", rest)
	}
	return text
}

// tookRows returns the lines of a table of nodes.
func (o Options) tookRows(nodes []view.NodeProgress) []string {
	var rows [][]cell
	for _, n := range nodes {
		out := "-"
		if took := v1alpha1.OutOfService(n.Steps, o.Now); took > 0 {
			out = duration.HumanDuration(took)
		}
		rows = append(rows, []cell{{n.Name, plain}, {out, plain}, {duration.HumanDuration(passTook(n)), plain}})
	}
	return strings.Split(strings.TrimSuffix(o.table([]string{"NODE", "OUT OF SERVICE", "TOOK"}, rows), "\n"), "\n")
}

func widest(lines []string) (width int) {
	for _, line := range lines {
		width = max(width, visible(line))
	}
	return width
}

// visible returns how many columns a line takes, without its colors.
func visible(line string) int {
	width := 0
	for len(line) > 0 {
		if n := colorLength(line); n > 0 {
			line = line[n:]
			continue
		}
		one := letters(line)[0]
		width, line = width+textWidth(one), line[len(one):]
	}
	return width
}

func stopped(p view.Progress, o Options) string {
	u := p.Upgrade
	failed := slices.DeleteFunc(slices.Clone(p.Nodes), func(n view.NodeProgress) bool {
		return n.State != view.StateFailed || n.Reason == v1alpha1.ReasonAbandoned
	})
	var b strings.Builder
	if len(failed) == 0 {
		text := "STOPPED: " + o.why(u.Reason, u.Message, nil)
		if u.Outcome != "" {
			text = strings.TrimSuffix(string(u.Outcome)+": "+o.said(u.Message), ": ")
		}
		o.hang(&b, "", 0, cell{o.of(text), red})
	} else {
		text := "STOPPED:"
		for _, n := range failed[:min(len(failed), view.MostNames)] {
			text += " " + failedSentence(n)
		}
		if more := len(failed) - view.MostNames; more > 0 {
			text += fmt.Sprintf(" %d more failed.", more)
		}
		o.hang(&b, "", 0, cell{o.of(text + others(p.Nodes)), red})
		_, cause := failed[0].Failure()
		for _, line := range []string{cause, lastLine(failed[0])} {
			if line != "" {
				o.hang(&b, "  ", 2, cell{o.said(line), plain})
			}
		}
	}
	b.WriteString("\nNext:\n" + o.commands(nextCommands(p, failed)))
	return b.String()
}

// failedSentence says what became of a node, such as "cp1 was rolled back to v1.34.4 after 16s and serves again."
func failedSentence(n view.NodeProgress) string {
	became, _ := n.Failure()
	text := n.Name + " " + became
	if took := passTook(n); took > 0 {
		text += " after " + duration.HumanDuration(took)
	}
	if n.Condition == "Ready" {
		text += " and serves again"
	}
	return text + "."
}

// others says how many of the other nodes are done, at work, and not touched.
func others(nodes []view.NodeProgress) (text string) {
	var done, active, untouched int
	for _, n := range nodes {
		switch {
		case n.State == view.StateDone:
			done++
		case n.State == view.StateActive:
			active++
		case n.State == view.StateWaiting && passTook(n) == 0:
			untouched++
		}
	}
	for _, one := range []struct {
		count     int
		one, many string
	}{{done, "is done", "are done"}, {active, "is at work", "are at work"}, {untouched, "was not touched", "were not touched"}} {
		switch one.count {
		case 0:
		case 1:
			text += " 1 node " + one.one + "."
		default:
			text += fmt.Sprintf(" %d nodes %s.", one.count, one.many)
		}
	}
	return text
}

// lastLine returns the last line of the kubelet's journal that the guard has found.
func lastLine(n view.NodeProgress) string {
	lines := strings.Split(strings.TrimSpace(n.KubeletLog), "\n")
	last := lines[len(lines)-1]
	if last == "" || strings.HasPrefix(last, "kubelet.service: ") || strings.HasPrefix(last, "merged: ") {
		return ""
	}
	return last + " (last line of the kubelet's journal)"
}

// sameAgain are what is requested again where it failed, by the types of upgrade that have a command of their own.
var sameAgain = map[v1alpha1.UpgradeType]string{v1alpha1.TypeReboot: "reboot", v1alpha1.TypeRollback: "rollback", v1alpha1.TypeCertificates: "renewal"}

// nextCommands returns the commands that come next, each with what it is for.
func nextCommands(p view.Progress, failed []view.NodeProgress) (list [][2]string) {
	u := p.Upgrade
	if len(failed) > 0 && failed[0].WithoutParts(u.Name) != "" {
		return [][2]string{
			{"kubectl upgrade status " + failed[0].Name, "it goes on when what it lacks is back"},
			{failed[0].WithoutParts(u.Name), "or without it"},
		}
	}
	switch {
	case len(failed) > 0 && sameAgain[u.Type] != "":
		same := "the steps; then the same " + sameAgain[u.Type] + " with --retry"
		return append(list, [2]string{"kubectl upgrade status " + failed[0].Name, same})
	case len(failed) > 0:
		list = append(list, [2]string{"kubectl upgrade status " + failed[0].Name, "the steps, and what was found"})
	case u.Outcome != "":
		return [][2]string{{"kubectl upgrade history " + u.Name, "the nodes"}}
	default:
		return [][2]string{{"kubectl upgrade status", "what each node waits for"}}
	}
	if u.Unblock != "" {
		list = append(list, [2]string{u.Unblock, "before that version comes again"})
	}
	if u.To != "" {
		list = append(list, [2]string{fmt.Sprintf("kubectl upgrade apply %s --retry", u.To), "once it is repaired"})
	}
	if p.Newer != "" {
		list = append(list, [2]string{fmt.Sprintf("kubectl upgrade apply %s --retry", p.Newer), "with another version"})
	}
	return list
}

// commands draws commands at the first column, unbroken, each with a comment where that has room.
func (o Options) commands(list [][2]string) string {
	width := 0
	for _, one := range list {
		width = max(width, textWidth(one[0]))
	}
	var b strings.Builder
	for _, one := range list {
		line, comment := o.paint(one[0], plain), "# "+one[1]
		if o.Width == 0 || width+len(gap)+textWidth(comment) <= o.Width {
			line += strings.Repeat(" ", width-textWidth(one[0])) + gap + o.paint(comment, faint)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
