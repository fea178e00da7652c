package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// takenBefore returns the versions that other upgrades than the plan's have taken back.
func takenBefore(p plan.Plan) []view.TakenBack {
	var kubelets []string
	for _, n := range p.Nodes {
		kubelets = append(kubelets, n.From)
	}
	others := slices.DeleteFunc(slices.Clone(p.TakenBack), func(t v1alpha1.TakenBackVersion) bool {
		return p.Upgrade != "" && t.Upgrade.Name == p.Upgrade
	})
	return view.NewTakenBack(others, kubelets)
}

// takenBackRows returns a line for each version that was taken back.
func takenBackRows(list []view.TakenBack, o Options) [][2]cell {
	var rows [][2]cell
	for i, t := range list {
		title := ""
		if i == 0 {
			title = "Taken back:"
		}
		why := strings.TrimSuffix(": "+t.Comment, ": ")
		rows = append(rows, titled(title, cell{fmt.Sprintf("%s by %s, %s ago%s; `%s` brings it again", t.Version, t.Upgrade, o.age(&t.Time), why, t.Command), yellow}))
	}
	return rows
}

// blockedRows returns a line for each version that people block.
func blockedRows(list []v1alpha1.BlockedVersion) (rows [][2]cell) {
	for i, one := range list {
		title := ""
		if i == 0 {
			title = "Blocked:"
		}
		rows = append(rows, titled(title, cell{one.Version + ": " + one.Comment, plain}))
	}
	return rows
}

// requestRows returns the line that says why an upgrade was requested.
func requestRows(reason string) [][2]cell {
	if reason == "" {
		return nil
	}
	return [][2]cell{titled("Reason:", cell{reason, plain})}
}

// rollbackRows returns the lines about what a Rollback does besides. Nil: the upgrade is none.
func rollbackRows(r *view.Rollback) (rows [][2]cell) {
	if r == nil {
		return nil
	}
	rows = append(rows, titled("Goes back:", cell{"only kubelets; the static pods of control planes stay at " + cmp.Or(strings.Join(r.APIServers, ", "), "their version"), plain}))
	if len(r.Ends) > 0 {
		rows = append(rows, titled("Ends:", cell{strings.Join(r.Ends, ", "), yellow}))
	}
	for i, version := range r.Blocks {
		title := ""
		if i == 0 {
			title = "Blocks:"
		}
		rows = append(rows, titled(title, cell{fmt.Sprintf("%s, which then only a person brings again: `%s`", version, view.BringAgain(version)), yellow}))
	}
	if len(r.Holds) > 0 {
		rows = append(rows, titled("Holds:", cell{view.Few(r.Holds) + ", when taken back; " + releaseHint(r.Holds...), yellow}))
	}
	return rows
}
