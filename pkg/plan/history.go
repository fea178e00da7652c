package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// remembered is how many upgrades back the planner looks for what nodes took: in
// a small cluster one alone measured too few.
const remembered = 10

// remember returns what nodes took in the upgrades before this one, as their records
// say: of each part, what the newest upgrades say that together measured a few.
func (c *cluster) remember() samples {
	isControlPlane := map[string]bool{}
	for _, n := range c.controlPlanes() {
		isControlPlane[n.Name] = true
	}
	var all samples
	for _, pieces := range lately(c.Records) {
		for p, measured := range recorded(pieces, isControlPlane) {
			if len(all[p]) < few {
				all[p] = append(all[p], measured...)
			}
		}
	}
	return all
}

// lately returns the records of the last few upgrades that succeeded, the newest
// first, each with its pieces in their order.
func lately(records []v1alpha1.UpgradeRecord) [][]*v1alpha1.UpgradeRecord {
	var all []*v1alpha1.UpgradeRecord
	for i := range records {
		if records[i].Outcome == v1alpha1.OutcomeSucceeded {
			all = append(all, &records[i])
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.UpgradeRecord) int {
		return cmp.Or(
			b.CompletionTime.Compare(a.CompletionTime.Time),
			cmp.Compare(a.Upgrade.UID, b.Upgrade.UID),
			cmp.Compare(a.Piece, b.Piece),
		)
	})
	var upgrades [][]*v1alpha1.UpgradeRecord
	for i, record := range all {
		if i == 0 || record.Upgrade.UID != all[i-1].Upgrade.UID {
			upgrades = append(upgrades, nil)
		}
		last := len(upgrades) - 1
		upgrades[last] = append(upgrades[last], record)
	}
	return upgrades[:min(len(upgrades), remembered)]
}

// recorded returns what a record says. It reads no more than the first nodes, where
// control planes stand.
func recorded(pieces []*v1alpha1.UpgradeRecord, isControlPlane map[string]bool) samples {
	var all samples
	read := 0
	for _, piece := range pieces {
		for i := range piece.Nodes {
			if read++; read > enough {
				return all
			}
			r := &piece.Nodes[i]
			for _, p := range []part{components, nodePart(isControlPlane[r.Name]), restart} {
				if took := *p.seconds(r); took > 0 {
					all[p] = append(all[p], time.Duration(took)*time.Second)
				}
			}
		}
	}
	return all
}

// seconds returns where a record says how long a pass took.
func (p part) seconds(r *v1alpha1.NodeRecord) *int32 {
	switch p {
	case components:
		return &r.ComponentsSeconds
	case restart:
		return &r.RestartSeconds
	}
	return &r.RebootSeconds
}
