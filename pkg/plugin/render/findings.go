package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

// maxSameCheck is how many findings of one check and level are shown without -o wide: of
// a thousand nodes whose agents have not reported, a few say as much.
var maxSameCheck = map[v1alpha1.FindingLevel]int{v1alpha1.LevelBlock: 8, v1alpha1.LevelWarn: 3, ignored: 3}

// ignored is shown as the level of findings that would block, and are ignored.
const ignored v1alpha1.FindingLevel = "Ignored"

// Findings draws a row for each finding of preflight. Advice that several have is shown
// with the first. Without findings it draws nothing.
func Findings(findings []v1alpha1.Finding, o Options) string {
	if len(findings) == 0 {
		return ""
	}
	shown := map[string]int{}
	left := map[string]int{}
	advised := map[string]bool{}
	var rows [][]cell
	var commands []string
	for _, f := range findings {
		key := f.ID + string(level(f))
		if shown[key] == maxSameCheck[level(f)] && !o.Wide {
			left[f.ID]++
			continue
		}
		shown[key]++
		commands = append(commands, "")
		row := []cell{{string(level(f)), levelColors[level(f)]}, {f.ID, plain}, {o.said(f.Message), plain}}
		if f.Advice != "" && !advised[f.ID+f.Advice] {
			advice, command := o.command(f.Advice)
			row[2].text = strings.TrimSuffix(row[2].text+" "+advice, " ")
			commands[len(commands)-1] = command
			advised[f.ID+f.Advice] = true
		}
		if o.Wide {
			row = slices.Insert(row, 2, cell{subject(f), plain})
		}
		rows = append(rows, row)
	}
	header := []string{"FINDING", "CHECK", "WHAT"}
	if o.Wide {
		header = slices.Insert(header, 2, "ABOUT")
	}
	text := o.draw(table{columns: columnsOf(header, rows), commands: commands})
	if len(left) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	var more []string
	for _, f := range findings {
		if n := left[f.ID]; n > 0 {
			more = append(more, fmt.Sprintf("%d more %s", n, f.ID))
			delete(left, f.ID)
		}
	}
	o.hang(&b, "", 0, cell{"not shown: " + strings.Join(more, ", ") + "; `-o wide` shows all", plain})
	return b.String()
}

// command splits an advice for a terminal into its text and the command at its end, which can be copied from a line of its own.
// Without a terminal there is none: a finding is one line.
func (o Options) command(advice string) (text, command string) {
	if o.Width == 0 || strings.HasSuffix(advice, ".") {
		return advice, "" // words follow the command
	}
	for _, begins := range []string{"kubectl ", "echo '"} {
		if strings.HasPrefix(advice, begins) {
			return "", advice
		}
		if text, rest, is := strings.Cut(advice, ": "+begins); is {
			return text + ":", begins + rest
		}
	}
	return advice, ""
}

// level returns Block, Warn, or Ignored for a finding that would block.
func level(f v1alpha1.Finding) v1alpha1.FindingLevel {
	if f.Ignored && f.Level == v1alpha1.LevelBlock {
		return ignored
	}
	return f.Level
}

var levelColors = map[v1alpha1.FindingLevel]color{v1alpha1.LevelBlock: red, v1alpha1.LevelWarn: yellow, ignored: yellow}

// subject returns the object or the node that a finding is about.
func subject(f v1alpha1.Finding) string {
	switch {
	case f.Object != v1alpha1.ObjectReference{}:
		return f.Object.String()
	case f.Node != "":
		return "Node/" + f.Node
	}
	return "-"
}

// CountFindings returns the numbers, such as "2 block, 3 warn".
func CountFindings(findings []v1alpha1.Finding) string {
	numbers := map[v1alpha1.FindingLevel]int{}
	for _, f := range findings {
		numbers[level(f)]++
	}
	var parts []string
	for _, l := range []v1alpha1.FindingLevel{v1alpha1.LevelBlock, ignored, v1alpha1.LevelWarn} {
		if n := numbers[l]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(l))))
		}
	}
	return strings.Join(parts, ", ")
}

// findingsColor returns red where something blocks.
func findingsColor(findings []v1alpha1.Finding) color {
	for _, f := range findings {
		if level(f) == v1alpha1.LevelBlock {
			return red
		}
	}
	return plain
}

var doctorColors = map[doctor.Level]color{doctor.OK: green, doctor.Unknown: faint, doctor.Warn: yellow, doctor.Fail: red}

// Diagnosis draws a line for each check, with its fix.
func Diagnosis(d doctor.Diagnosis, o Options) string {
	var rows [][]cell
	var commands []string
	counts := map[doctor.Level]int{}
	fixed := map[string]bool{}
	for _, line := range d.Checks {
		counts[line.Level]++
		text, command := o.said(line.Message), ""
		if line.Fix != "" && !fixed[line.Check+line.Fix] {
			var fix string
			fix, command = o.command(line.Fix)
			text = strings.TrimSuffix(text+". "+fix, " ")
			fixed[line.Check+line.Fix] = true
		}
		commands = append(commands, command)
		rows = append(rows, []cell{{string(line.Level), doctorColors[line.Level]}, {line.Check, plain}, {text, plain}})
	}
	var parts []string
	for _, level := range []doctor.Level{doctor.Fail, doctor.Warn, doctor.Unknown, doctor.OK} {
		if n := counts[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		}
	}
	header := []string{"LEVEL", "CHECK", "WHAT"}
	return o.titles(o.clusterRows()) + o.draw(table{columns: columnsOf(header, rows), commands: commands}) + "\n" + o.paint(strings.Join(parts, ", "), doctorColors[d.Verdict]) + "\n"
}
