//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/performance"
)

// figures are the columns of a table of measured figures.
var figures = []string{"", "goal", "measured"}

// handOffTables are the hand-offs, of which the first is that of the control plane, and what
// those between workers consist of.
func handOffTables(handOffs []record.HandOff) []performance.Table {
	var lengths []time.Duration
	parts := make([][]time.Duration, len(record.HandOffParts))
	for _, h := range handOffs[1:] {
		lengths = append(lengths, h.Length())
		for i, took := range h.Parts() {
			parts[i] = append(parts[i], took)
		}
	}
	var rows [][]string
	for i, part := range record.HandOffParts {
		rows = append(rows, []string{part.Name, seconds(median(parts[i])), seconds(slices.Max(parts[i])), seconds(handOffs[0].Parts()[i])})
	}
	return []performance.Table{
		{Columns: figures, Rows: [][]string{
			{fmt.Sprintf("between workers, median of %d", len(lengths)), "0.5 s", seconds(median(lengths))},
			{"between workers, the slowest", "1 s", seconds(slices.Max(lengths))},
			{"from the control plane to the first worker", "3 s", seconds(handOffs[0].Length())},
		}},
		{Text: "Until", Columns: []string{"", "between workers, median", "the slowest", "after the control plane"}, Rows: rows},
	}
}

// stepRows has the median time of each step that nodes were at between cordon and uncordon.
func stepRows(nodes []v1alpha1.NodeRecord) [][]string {
	var rows [][]string
	for _, info := range v1alpha1.Steps {
		var all []time.Duration
		for _, node := range nodes {
			if took, times := scenario.Spent(node, info.Step); times > 0 {
				all = append(all, took)
			}
		}
		if len(all) > 0 {
			rows = append(rows, []string{string(info.Step), seconds(median(all))})
		}
	}
	return rows
}

func lengths(outages []record.Outage) []time.Duration {
	var all []time.Duration
	for _, o := range outages {
		all = append(all, o.Length())
	}
	return all
}

// span returns the time from the first cordon to the last uncordon.
func span(outages []record.Outage) time.Duration {
	last := slices.MaxFunc(outages, func(a, b record.Outage) int { return a.Uncordoned.Compare(b.Uncordoned) })
	return last.Uncordoned.Sub(outages[0].Cordoned)
}

// median returns the middle, or the mean of the two in the middle.
func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f ×", a.Seconds()/b.Seconds()) }
