package page

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
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

// waitRow is a time in which nodes waited for the same reason.
type waitRow struct {
	From, To, Took, Nodes, Why, Code string

	start, end time.Time
	names      []string
}

// together is how far apart the starts of waits are that are shown as one.
const together = 5 * time.Minute

// waitRows returns what nodes waited for, in order. Nodes that waited together for the same
// reason are one row, with the length of the longest wait.
func (l lanes) waitRows() []waitRow {
	var rows []*waitRow
	for i := range l.report.Nodes {
		n := &l.report.Nodes[i]
		for _, w := range n.Waits {
			same := slices.IndexFunc(rows, func(r *waitRow) bool {
				return r.Code == string(w.Reason) && r.Why == w.Message && r.start.Sub(w.Start).Abs() < together && r.end.Sub(w.End).Abs() < together
			})
			if same < 0 {
				same, rows = len(rows), append(rows, &waitRow{Why: w.Message, Code: string(w.Reason), start: w.Start, end: w.End})
			}
			r := rows[same]
			r.names = append(r.names, n.Name)
			if w.Start.Before(r.start) {
				r.start = w.Start
			}
			if w.End.After(r.end) {
				r.end = w.End
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *waitRow) int { return a.start.Compare(b.start) })
	out := make([]waitRow, len(rows))
	for i, r := range rows {
		out[i] = *r
		out[i].From, out[i].To, out[i].Took = l.short(r.start), l.short(r.end), length(r.end.Sub(r.start))
		out[i].Nodes = strings.Join(r.names, ", ")
		if len(r.names) == len(l.report.Nodes) && len(r.names) > 1 {
			out[i].Nodes = "all nodes"
		}
	}
	return out
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
