package page

import (
	"fmt"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/report"
)

// area is how many nodes were in a state, from left to right.
type area struct{ Class, Path string }

// samples is at how many places nodes are counted.
const samples = 200

// areas returns the areas of nodes that were done, and above them of those that were being
// upgraded, in a picture of 200 by 100.
func (l lanes) areas(nodes []report.Node) []area {
	done, busy := make([]int, samples+1), make([]int, samples+1)
	place := func(x float64) int { return int(x*samples + 0.5) }
	for i := range nodes {
		n := &nodes[i]
		first := samples + 1
		if n.EndTime != nil {
			first = place(l.at(*n.EndTime))
		} else if n.State == report.UpToDate {
			first = 0
		}
		for x := first; x <= samples; x++ {
			done[x]++
		}
		seen := -1
		for _, s := range n.Steps {
			if k := drawn(s.Step); k == nil || k.Class == "s" {
				continue
			}
			for x := max(place(l.at(s.Start)), seen+1); x <= place(l.at(endOf(l.report, s))) && x < first; x++ {
				busy[x]++
				seen = x
			}
		}
	}
	for x := range busy {
		busy[x] += done[x]
	}
	return []area{{"busy", outline(busy, len(nodes))}, {"done", outline(done, len(nodes))}}
}

// outline returns the path around an area.
func outline(counts []int, of int) string {
	var b strings.Builder
	b.WriteString("M0 100")
	last := -1
	for x, count := range counts {
		y := 100 - 100*count/max(of, 1)
		if y == last {
			continue
		}
		last = y
		fmt.Fprintf(&b, "H%dV%d", x, y)
	}
	fmt.Fprintf(&b, "H%dV100z", samples)
	return b.String()
}
