package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/report"
)

// reasonTime is how long nodes waited for one reason.
type reasonTime struct {
	reason v1alpha1.Reason
	took   time.Duration
}

// sumWaits adds up the waits of each reason, the longest first.
func sumWaits(waits []report.Wait) (sums []reasonTime) {
	for _, w := range waits {
		i := slices.IndexFunc(sums, func(s reasonTime) bool { return s.reason == w.Reason })
		if i < 0 {
			i, sums = len(sums), append(sums, reasonTime{reason: w.Reason})
		}
		sums[i].took += w.End.Sub(w.Start)
	}
	slices.SortStableFunc(sums, func(a, b reasonTime) int { return int(b.took - a.took) })
	return sums
}

func causesText(sums []reasonTime) string {
	texts := make([]string, len(sums))
	for i, s := range sums {
		texts[i] = fmt.Sprintf("%s %s", report.Unknown(s.reason), length(s.took))
	}
	return strings.Join(texts, ", ")
}

// waitRow is a row of the table of waits: those of one node, or of all nodes for one reason.
type waitRow struct {
	Node, Total string
	Waits       []waitLine
}

type waitLine struct{ Took, When, Why, Code string }

// waitRows returns what each node waited for.
func (l lanes) waitRows() (rows []waitRow) {
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		if len(n.Waits) == 0 {
			continue
		}
		row := waitRow{Node: n.Name, Total: length(n.Waited())}
		for _, w := range n.Waits {
			row.Waits = append(row.Waits, waitLine{
				Took: length(w.End.Sub(w.Start)), When: l.short(w.Start) + " – " + l.short(w.End), Why: w.Message, Code: string(w.Reason),
			})
		}
		rows = append(rows, row)
	}
	return rows
}

// reasonRow is how many nodes waited for a reason.
type reasonRow struct {
	Code, Meaning, Median, Longest, LongestNode string
	Nodes                                       int
}

// reasonRows returns how long the nodes of a large cluster waited for each reason.
func (l lanes) reasonRows() (rows []reasonRow) {
	type one struct {
		took time.Duration
		node string
	}
	byReason := map[v1alpha1.Reason][]one{}
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		for _, s := range sumWaits(n.Waits) {
			byReason[s.reason] = append(byReason[s.reason], one{s.took, n.Name})
		}
	}
	for reason, all := range byReason {
		slices.SortStableFunc(all, func(a, b one) int { return int(a.took - b.took) })
		last, meaning := all[len(all)-1], reason.Info().Meaning
		if reason == "" {
			meaning = "the cause is not recorded"
		}
		rows = append(rows, reasonRow{
			Code: report.Unknown(reason), Meaning: meaning, Nodes: len(all),
			Median: length(all[len(all)/2].took), Longest: length(last.took), LongestNode: last.node,
		})
	}
	slices.SortFunc(rows, func(a, b reasonRow) int {
		if a.Nodes != b.Nodes {
			return b.Nodes - a.Nodes
		}
		return strings.Compare(a.Code, b.Code)
	})
	return rows
}
