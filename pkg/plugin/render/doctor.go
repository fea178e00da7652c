package render

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
)

var doctorColors = map[doctor.Level]color{doctor.OK: green, doctor.Unknown: faint, doctor.Warn: yellow, doctor.Fail: red}

// Diagnosis draws a line for each check, with its fix.
func Diagnosis(d doctor.Diagnosis, o Options) string {
	var rows [][]cell
	counts := map[doctor.Level]int{}
	fixed := map[string]bool{}
	for _, line := range d.Checks {
		counts[line.Level]++
		text := line.Message
		if line.Fix != "" && !fixed[line.Check+line.Fix] {
			text += ". " + line.Fix
			fixed[line.Check+line.Fix] = true
		}
		rows = append(rows, []cell{{string(line.Level), doctorColors[line.Level]}, {line.Check, plain}, {text, plain}})
	}
	var parts []string
	for _, level := range []doctor.Level{doctor.Fail, doctor.Warn, doctor.Unknown, doctor.OK} {
		if n := counts[level]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, level))
		}
	}
	return o.table([]string{"LEVEL", "CHECK", "WHAT"}, rows) + "\n" + o.paint(strings.Join(parts, ", "), doctorColors[d.Verdict]) + "\n"
}
