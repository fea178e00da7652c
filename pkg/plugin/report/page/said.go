package page

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// withLocalMessages returns a copy of the report whose messages have their times in that zone: the
// cluster writes them in UTC, and the page has one zone.
func withLocalMessages(r *report.Report, in *time.Location) *report.Report {
	said := func(message string) string { return render.Said(message, in, report.Length) }
	local := *r
	local.Upgrade.Message = said(r.Upgrade.Message)
	local.Nodes = slices.Clone(r.Nodes)
	for i := range local.Nodes {
		n := &local.Nodes[i]
		n.Message, n.Waits = said(n.Message), slices.Clone(n.Waits)
		for j := range n.Waits {
			n.Waits[j].Message = said(n.Waits[j].Message)
		}
	}
	local.Findings = slices.Clone(r.Findings)
	for i := range local.Findings {
		local.Findings[i].Message = said(local.Findings[i].Message)
	}
	return &local
}
