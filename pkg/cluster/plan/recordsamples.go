package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// maxUpgrades is how many earlier upgrades the planner takes durations from: in a small
// cluster one upgrade has too few samples.
const maxUpgrades = 10

// recordedSamples returns how long nodes took in earlier upgrades, from their records:
// for each part, from the newest upgrades that together have minSamples.
func recordedSamples(records []v1alpha1.UpgradeRecord, nodes []fleet.Node) samples {
	isControlPlane := map[string]bool{}
	for i := range nodes {
		isControlPlane[nodes[i].Name] = nodes[i].ControlPlane
	}
	var all samples
	for _, pieces := range lastSucceeded(records) {
		for p, measured := range samplesOf(pieces, isControlPlane) {
			if len(all[p]) < minSamples {
				all[p] = append(all[p], measured...)
			}
		}
	}
	return all
}

// lastSucceeded returns the records of the last few upgrades that succeeded, the newest
// first, each with its pieces in their order.
func lastSucceeded(records []v1alpha1.UpgradeRecord) [][]*v1alpha1.UpgradeRecord {
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
	return upgrades[:min(len(upgrades), maxUpgrades)]
}

// samplesOf returns the durations in a record. It reads only the first maxSamples
// nodes, which include the control planes.
func samplesOf(pieces []*v1alpha1.UpgradeRecord, isControlPlane map[string]bool) samples {
	var all samples
	read := 0
	for _, piece := range pieces {
		for i := range piece.Nodes {
			if read++; read > maxSamples {
				return all
			}
			r := &piece.Nodes[i]
			for _, p := range []part{components, nodePart(isControlPlane[r.Name]), restart, softReboot} {
				if took := *p.durationField(r); took > 0 {
					all[p] = append(all[p], time.Duration(took)*time.Second)
				}
			}
		}
	}
	return all
}

// durationField returns the field of a record that holds the part's duration in seconds.
func (p part) durationField(r *v1alpha1.NodeRecord) *int32 {
	switch p {
	case components:
		return &r.ComponentsSeconds
	case restart:
		return &r.RestartSeconds
	case softReboot:
		return &r.SoftRebootSeconds
	}
	return &r.RebootSeconds
}
