package silence

import (
	"fmt"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// Work is a node at work.
type Work struct {
	Owner clusterstate.Owner
	// Began is when it began, as its agent says, and Bound for how long its alerts are silenced in all.
	Began time.Time
	Bound time.Duration
}

// unknownBound is the bound for a node that is not expected to take any known time.
const unknownBound = time.Hour

// AtWork returns the nodes that hold a slot and are being upgraded. One that failed is not at work.
func AtWork(s clusterstate.Snapshot) []Work {
	holders := make(map[clusterstate.Owner]bool, len(s.Slots))
	for _, slot := range s.Slots {
		holders[slot.Holder] = true
	}
	upgrades := make(map[string]*v1alpha1.NodeUpgrade, len(holders))
	for i := range s.NodeUpgrades {
		upgrades[s.NodeUpgrades[i].Name] = &s.NodeUpgrades[i]
	}
	var list []Work
	for i := range s.Nodes {
		n := &s.Nodes[i]
		u := upgrades[n.Name]
		if u == nil || !holders[n.Owner()] || u.Abandoned != nil {
			continue
		}
		switch u.Status.Step.Info().Phase {
		case v1alpha1.PhaseRevocable, v1alpha1.PhaseCommitted:
			list = append(list, newWork(n, u))
		}
	}
	return list
}

func newWork(n *clusterstate.Node, u *v1alpha1.NodeUpgrade) Work {
	w := Work{Owner: n.Owner(), Bound: unknownBound}
	if expected := u.Spec.ExpectedSeconds; expected != nil {
		w.Bound = 2*time.Duration(*expected)*time.Second + 5*time.Minute
	}
	for _, step := range u.Status.Steps {
		if step.Step == v1alpha1.StepLocking || w.Began.IsZero() {
			w.Began = step.StartTime.Time
		}
	}
	if w.Began.IsZero() && u.Status.StepStartTime != nil {
		w.Began = u.Status.StepStartTime.Time
	}
	return w
}

// comment returns what a silence says. A leader knows the silences of the leader before by it.
func comment(node clusterstate.Owner) string {
	return fmt.Sprintf("kubectl-upgrade upgrades node %s (UID %s)", node.Node, node.UID)
}
