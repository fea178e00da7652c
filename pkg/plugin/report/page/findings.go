package page

import (
	"cmp"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// findingRow is a finding, and who ignored it.
type findingRow struct {
	Level, ID, Object, Node, Message, Advice, Ignored string
}

func findingRows(r *report.Report) (rows []findingRow) {
	why := map[string]string{}
	for _, check := range r.IgnoreChecks {
		why[check.ID] = cmp.Or(check.Reason, "no reason was given")
		if check.By != "" {
			why[check.ID] += ", by " + check.By
		}
	}
	for _, f := range r.Findings {
		row := findingRow{Level: string(f.Level), ID: f.ID, Node: f.Node, Message: f.Message, Advice: f.Advice}
		if f.Object.Name != "" {
			row.Object = f.Object.String()
		}
		if f.Ignored {
			row.Ignored = cmp.Or(why[f.ID], "no reason was given")
		}
		rows = append(rows, row)
	}
	return rows
}
