//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/performance"
)

const speedText = `
%[1]s measures real nodes of the [lab](../lab/README.md): a control plane and %[2]d workers on one machine with two cores, with a web service whose pods are drained. Out of service is a worker from its cordon to its uncordon, with ` + "`settleSeconds: 0`" + `. The bare script does to the same workers, in the same run and one after the other, what cannot be left out: ` + "`kubectl drain`, `systemctl reboot`, wait until the Node is Ready in its new boot, `kubectl uncordon`" + `. The hand-off is the time from one node's uncordon to the next one's cordon.
`

// writePage writes the section of docs/performance.md. What the notes say is a person's
// judgement, so the last ones stay.
func (s *speed) writePage(t *testing.T) {
	page := performance.Open(t)
	workers := s.patched[1:]
	handOffs := record.HandOffs(workers)
	bare := total(s.scripted)
	page.Record(t, performance.Section{
		Name: "nodes", Order: 10, Title: "Real nodes",
		Text: fmt.Sprintf(speedText, "`make bench-lab`", speedWorkers),
		Tables: []performance.Table{{
			Columns: []string{"", "goal", "measured"},
			Rows: [][]string{
				{"measured", "", time.Now().Format(time.DateOnly)},
				{"hand-off between workers of a patch: median", "0.2 s", seconds(median(handOffs))},
				{"the slowest", "1 s", seconds(slices.Max(handOffs))},
				{"hand-off between workers of a Reboot: median, slowest", "0.2 s, 1 s", seconds(median(record.HandOffs(s.oneByOne))) + ", " + seconds(slices.Max(record.HandOffs(s.oneByOne)))},
				{"hand-off from the control plane to the first worker", "", seconds(record.HandOffs(s.patched)[0])},
				{"a worker out of service, bare script: median", "", seconds(median(lengths(s.scripted)))},
				{"a worker out of service, Reboot: median", "", seconds(median(lengths(s.oneByOne)))},
				{"a worker out of service, patch: median", "", seconds(median(lengths(workers)))},
				{"all workers' time out of service, Reboot to bare script", "1.1 ×", ratio(total(s.oneByOne), bare)},
				{"all workers' time out of service, patch to bare script", "1.1 ×", ratio(total(workers), bare)},
				{"from the first cordon to the last uncordon, Reboot to bare script", "", ratio(span(s.oneByOne), span(s.scripted))},
				{fmt.Sprintf("the same with `maxUnavailable: %d`, to one by one", together), fmt.Sprintf("%.2f ×", 1.0/together), ratio(span(s.atOnce), span(s.oneByOne))},
			},
		}},
		Notes: page.Last(t, "nodes").Notes,
	})
}

func lengths(outages []record.Outage) []time.Duration {
	var all []time.Duration
	for _, o := range outages {
		all = append(all, o.Length())
	}
	return all
}

func total(outages []record.Outage) (sum time.Duration) {
	for _, length := range lengths(outages) {
		sum += length
	}
	return sum
}

// span returns the time from the first cordon to the last uncordon.
func span(outages []record.Outage) time.Duration {
	last := slices.MaxFunc(outages, func(a, b record.Outage) int { return a.Uncordoned.Compare(b.Uncordoned) })
	return last.Uncordoned.Sub(outages[0].Cordoned)
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func ratio(a, b time.Duration) string {
	return fmt.Sprintf("%.2f × (%.1f s, %.1f s)", a.Seconds()/b.Seconds(), a.Seconds(), b.Seconds())
}
