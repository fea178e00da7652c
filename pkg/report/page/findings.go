package page

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"

// findingRow is a finding, and who ignored it.
type findingRow struct {
	Level, ID, Object, Node, Message, Advice, Ignored string
}

func findingRows(r *report.Report) (rows []findingRow) {
	why := map[string]string{}
	for _, check := range r.IgnoreChecks {
		why[check.ID] = check.Reason
	}
	for _, f := range r.Findings {
		row := findingRow{Level: string(f.Level), ID: f.ID, Node: f.Node, Message: f.Message, Advice: f.Advice}
		if f.Object.Name != "" {
			row.Object = f.Object.String()
		}
		if f.Ignored {
			row.Ignored = "no reason was given"
			if why[f.ID] != "" {
				row.Ignored = why[f.ID]
			}
		}
		rows = append(rows, row)
	}
	return rows
}
