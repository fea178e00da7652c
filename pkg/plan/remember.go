package plan

import (
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// remembered is how many upgrades back the planner looks for what nodes took: in
// a small cluster one alone measured too few.
const remembered = 10

// remember is what nodes took in the upgrades before this one, as their records
// say: of each part, what the newest upgrades say that together measured a few.
func (d *decider) remember() samples {
	isControlPlane := map[string]bool{}
	for _, n := range d.nodes {
		if n.ControlPlane {
			isControlPlane[n.Name] = true
		}
	}
	var all samples
	for _, u := range lately(d.Upgrades) {
		for p, measured := range recorded(u.Status.Record, isControlPlane) {
			if len(all[p]) < few {
				all[p] = append(all[p], measured...)
			}
		}
	}
	return all
}

// lately are the last few upgrades that succeeded, the newest first.
func lately(upgrades []v1alpha1.ClusterUpgrade) []*v1alpha1.ClusterUpgrade {
	var list []*v1alpha1.ClusterUpgrade
	for i := range upgrades {
		if u := &upgrades[i]; u.Status.Outcome == v1alpha1.OutcomeSucceeded && u.Status.FinishedAt != nil {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(a, b *v1alpha1.ClusterUpgrade) int {
		return b.Status.FinishedAt.Compare(a.Status.FinishedAt.Time)
	})
	return list[:min(len(list), remembered)]
}

// recorded reads a record from its begin, where control planes stand.
func recorded(record []v1alpha1.NodeRecord, isControlPlane map[string]bool) samples {
	var all samples
	for i := range record[:min(len(record), enough)] {
		r := &record[i]
		for _, p := range []part{components, nodePart(isControlPlane[r.Name]), restart} {
			if took := *p.seconds(r); took > 0 {
				all[p] = append(all[p], time.Duration(took)*time.Second)
			}
		}
	}
	return all
}

// seconds is where a record says how long a pass took.
func (p part) seconds(r *v1alpha1.NodeRecord) *int32 {
	switch p {
	case components:
		return &r.ComponentsSeconds
	case restart:
		return &r.RestartSeconds
	}
	return &r.RebootSeconds
}
