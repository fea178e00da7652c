package view

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/request"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Releases returns every minor that is on offer, runs, or is staged.
func Releases(s fleet.Snapshot, now time.Time) []render.Release {
	minors := map[string]version.Version{}
	see := func(text string) (line string, known bool) {
		v, err := version.Parse(text)
		if err != nil {
			return "", false
		}
		minors[v.Line()] = v
		return v.Line(), true
	}
	for _, offer := range s.Source.Offers {
		see(offer.Version)
	}
	runs, staged := map[string]map[string]int{}, map[string]map[string]int{}
	count := func(in map[string]map[string]int, text string) {
		if line, known := see(text); known {
			if in[line] == nil {
				in[line] = map[string]int{}
			}
			in[line][text]++
		}
	}
	kubelets := map[string]string{}
	for _, n := range s.Nodes {
		count(runs, n.Kubelet)
		kubelets[n.Name] = n.Kubelet
	}
	for _, u := range s.NodeUpgrades {
		if u.Status.Versions.Staged != kubelets[u.Name] {
			count(staged, u.Status.Versions.Staged)
		}
	}
	items := []render.Release{}
	for _, line := range slices.SortedFunc(maps.Keys(minors), func(a, b string) int { return minors[a].Compare(minors[b]) }) {
		one := render.Release{Minor: line, Runs: counted(runs[line]), Staged: counted(staged[line])}
		complete, newest := request.Newest(s, line)
		if complete != (version.Version{}) {
			one.Newest = complete.String()
		}
		if complete.Less(newest) {
			one.Partly = newest.String()
		}
		var end time.Time
		if one.Support, end = minors[line].SupportOf(now); !end.IsZero() {
			one.SupportEnds = end.Format(time.DateOnly)
		}
		items = append(items, one)
	}
	return items
}

// counted returns the numbers, the oldest version first.
func counted(numbers map[string]int) []render.Count {
	var list []render.Count
	for _, text := range slices.SortedFunc(maps.Keys(numbers), func(a, b string) int {
		left, _ := version.Parse(a) // only what could be read was counted
		right, _ := version.Parse(b)
		return left.Compare(right)
	}) {
		list = append(list, render.Count{Version: text, Nodes: numbers[text]})
	}
	return list
}
