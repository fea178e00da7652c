package render

import (
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Freeze is one exclusion of a schedule that has no window.
type Freeze struct {
	Name        string
	From, Until time.Time
	Recurrence  string // From and Until are those of the first time
	Upgrades    []v1alpha1.UpgradeType
	Nodes       string // a selector; empty: every node
	By          string // what restores it from Git, or who requested it
	Reason      string
}

// Freezes draws a table of freezes.
func Freezes(freezes []Freeze, o Options) string {
	rows := make([][]cell, 0, len(freezes))
	for _, f := range freezes {
		upgrades := make([]string, len(f.Upgrades))
		for i, t := range f.Upgrades {
			upgrades[i] = string(t)
		}
		until := o.when(f.Until)
		if f.Recurrence != "" {
			until = f.Recurrence
		}
		rows = append(rows, []cell{
			{f.Name, plain}, {until, plain}, {orAll(strings.Join(upgrades, ",")), plain}, {orAll(f.Nodes), plain},
			{orDash(f.By), plain}, {orDash(f.Reason), plain},
		})
	}
	return o.table([]string{"FREEZE", "UNTIL", "UPGRADES", "NODES", "BY", "REASON"}, rows)
}

func orAll(text string) string {
	if text == "" {
		return "all"
	}
	return text
}

// When returns a time with its zone, and how far away it is.
func When(t time.Time, o Options) string { return o.when(t) }
