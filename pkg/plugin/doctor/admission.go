package doctor

import (
	"fmt"
	"strings"
)

// admission says whether policies, quotas and webhooks of the cluster take what kubectl-upgrade writes.
func admission(f Facts) (lines []Line) {
	if !f.Installed() {
		return nil
	}
	var taken []string
	for _, w := range f.Writes {
		if w.Refusal == "" {
			taken = append(taken, w.What)
			continue
		}
		lines = append(lines, Line{"admission", Fail, fmt.Sprintf("the API server would refuse %s: %s", w.What, w.Refusal),
			"Exempt the namespace kubectl-upgrade and its service accounts in that policy or quota, or mend the webhook"})
	}
	switch {
	case len(taken) > 0:
		return append([]Line{{"admission", OK, "the API server takes " + strings.Join(taken, ", ") + ", as dry runs say", ""}}, lines...)
	case len(lines) == 0:
		return []Line{{"admission", Unknown, "whether the API server takes what kubectl-upgrade writes was not tried", "Run the command as an administrator: it makes dry runs"}}
	}
	return lines
}
