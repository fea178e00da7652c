package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// sameCheck is how many findings of one check are shown, unless more columns are
// asked for: of a thousand pods without a probe, a few say as much.
const sameCheck = 3

// Findings draws what preflight found, a row for each. Nothing found, nothing
// drawn.
func Findings(findings []v1alpha1.Finding, o Options) string {
	if len(findings) == 0 {
		return ""
	}
	shown := map[string]int{}
	left := map[string]int{}
	var rows [][]cell
	for _, f := range findings {
		key := f.ID + string(level(f))
		if shown[key] == sameCheck && !o.Wide && (f.Level != v1alpha1.LevelBlock || f.Ignored) {
			left[f.ID]++
			continue
		}
		shown[key]++
		rows = append(rows, []cell{{string(level(f)), levelColors[level(f)]}, {f.ID, plain}, {subject(f), plain}, {sentence(f), plain}})
	}
	text := o.table([]string{"FINDING", "CHECK", "ABOUT", "WHAT"}, rows)
	if len(left) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text)
	var more []string
	for _, f := range findings {
		if n := left[f.ID]; n > 0 {
			more = append(more, fmt.Sprintf("%d %s", n, f.ID))
			delete(left, f.ID)
		}
	}
	o.hang(&b, "", 0, cell{"and more of the same: " + strings.Join(more, ", ") + "; `-o wide` shows all", plain})
	return b.String()
}

// level is Block, Warn, or Ignored for what would block.
func level(f v1alpha1.Finding) v1alpha1.FindingLevel {
	if f.Ignored && f.Level == v1alpha1.LevelBlock {
		return "Ignored"
	}
	return f.Level
}

var levelColors = map[v1alpha1.FindingLevel]color{v1alpha1.LevelBlock: red, v1alpha1.LevelWarn: yellow, "Ignored": yellow}

func subject(f v1alpha1.Finding) string {
	switch {
	case f.Object != "":
		return f.Object
	case f.Node != "":
		return "Node/" + f.Node
	}
	return "-"
}

func sentence(f v1alpha1.Finding) string {
	if f.Advice == "" {
		return f.Message
	}
	return f.Message + " " + f.Advice
}

// CountFindings is "2 block, 3 warn".
func CountFindings(findings []v1alpha1.Finding) string {
	numbers := map[v1alpha1.FindingLevel]int{}
	for _, f := range findings {
		numbers[level(f)]++
	}
	var parts []string
	for _, l := range []v1alpha1.FindingLevel{v1alpha1.LevelBlock, "Ignored", v1alpha1.LevelWarn} {
		if n := numbers[l]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(l))))
		}
	}
	return strings.Join(parts, ", ")
}

// findingsColor is red where something blocks.
func findingsColor(findings []v1alpha1.Finding) color {
	for _, f := range findings {
		if level(f) == v1alpha1.LevelBlock {
			return red
		}
	}
	return plain
}
