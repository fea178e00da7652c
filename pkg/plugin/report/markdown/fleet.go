package markdown

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
)

// FleetText returns what several clusters ran, for a ticket.
func FleetText(r fleet.Report, o Options) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	clock := func(t *time.Time, without string) string {
		if t == nil {
			return without
		}
		return strings.ReplaceAll(t.In(o.Zone).Format("2006-01-02 15:04 MST"), "+", `\+`)
	}
	line("## Which cluster ran what\n")
	line("| Cluster | Stage | Version | From | To | Requested by | Digests | Problem |")
	line("|%s", strings.Repeat(" --- |", 8))
	for _, row := range r.Items {
		switch {
		case row.Repeated:
			continue
		case row.Reason != "":
			line("| %s | %s | – | – | – | – | – | %s |", code(row.Context), cmp.Or(text(row.Stage), "–"), text(string(row.Reason)+": "+row.Message))
		}
		for _, run := range row.Runs {
			var digests []string
			for _, d := range run.Digests {
				digests = append(digests, text(string(d.Architecture))+" "+code(string(d.Digest)))
			}
			from, to, problem := clock(run.From, "–"), clock(run.To, "now"), text(cmp.Or(run.Problem, run.Blocked))
			if run.Attempt != nil {
				from, to = "not yet", "–"
				if run.Attempt.IsOver() {
					from = "never"
				}
				problem = text(run.Words(func(t *time.Time) string { return t.In(o.Zone).Format("2006-01-02 15:04 MST") }))
			}
			line("| %s | %s | %s | %s | %s | %s | %s | %s |", code(row.Context), cmp.Or(text(row.Stage), "–"), code(run.Version), from, to,
				cmp.Or(text(run.RequestedBy), "–"), cmp.Or(strings.Join(digests, ", "), "–"), cmp.Or(problem, "–"))
		}
	}
	since := ""
	if r.Since != nil {
		since = " since " + clock(r.Since, "") + ","
	}
	line("\nA version counts from when every managed node ran it, to when the first node began to leave it; what is not recorded is –. As of %s,%s by kubectl-upgrade %s.",
		clock(&r.GeneratedTime, ""), since, text(o.Version))
	return b.String()
}
